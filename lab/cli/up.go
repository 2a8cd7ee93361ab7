package cli

import (
	"bufio"
	"context"
	"debug/elf"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/railhead/railhead/lab/machines/fabric"
	"github.com/railhead/railhead/lab/machines/vm"
)

// wishes are the flags of up and of serve.
type wishes struct {
	fabric.Options
	iommu string
}

func (w *wishes) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&w.PodsOnly, "pods-only", false, "machines without Kubernetes")
	f.BoolVar(&w.Plain, "plain", false, "Kubernetes without OpenShift's admission and operators")
	f.BoolVar(&w.Rollout, "rollout", false,
		"with the machine-config-controller: what a rollout writes takes effect when its nodes reboot")
	f.BoolVar(&w.SeparateRDMA, "separate-rdma", false, "each RDMA device belongs to one network namespace")
	f.IntVar(&w.Machines, "machines", 2, "number of machines")
	f.StringVar(&w.iommu, "iommu", string(vm.Intel), "intel, amd or none")
	f.StringArrayVar(&w.Arguments, "argument", nil,
		"argument of the machines' kernel, may be repeated (default iommu=pt, and intel_iommu=on for Intel)")
	f.Uint64Var(&w.Memlock, "memlock", 0, "bytes of memory that containers may lock (default that of the runtime)")
	f.StringVar(&w.DevicePlugin, "device-plugin", "",
		"a sriov-network-device-plugin (linux/amd64) to run on the nodes (default a stand-in for release 3.11.0)")
	f.IntVar(&w.Memory, "memory", 0, "MiB of each machine (default 704, 512 with --pods-only)")
}

// options checks the flags.
func (w *wishes) options() (fabric.Options, error) {
	o := w.Options
	o.IOMMU = vm.IOMMU(w.iommu)
	const most = 9
	switch {
	case o.IOMMU != vm.Intel && o.IOMMU != vm.AMD && o.IOMMU != vm.NoIOMMU:
		return o, usageError{fmt.Errorf("--iommu is %q, and must be intel, amd or none", w.iommu)}
	case o.Machines < 1 || o.Machines > most:
		return o, usageError{fmt.Errorf("--machines is %d, and must be from 1 to %d", o.Machines, most)}
	case o.PodsOnly && (o.Plain || o.Rollout):
		return o, usageError{errors.New("--pods-only has no Kubernetes, so neither --plain nor --rollout goes with it")}
	case o.Plain && o.Rollout:
		return o, usageError{errors.New("--rollout needs OpenShift, so --plain does not go with it")}
	}
	return o, w.devicePlugin()
}

// devicePlugin refuses a program that the nodes could not run.
func (w *wishes) devicePlugin() error {
	if w.DevicePlugin == "" {
		return nil
	}
	if w.PodsOnly {
		return usageError{errors.New("--pods-only has no Kubernetes, so no --device-plugin goes with it")}
	}
	program, err := elf.Open(w.DevicePlugin)
	if err != nil {
		return usageError{fmt.Errorf("--device-plugin %s: %w", w.DevicePlugin, err)}
	}
	defer program.Close()
	if program.Machine != elf.EM_X86_64 {
		return usageError{
			fmt.Errorf("--device-plugin %s is for %s, and the nodes are x86-64", w.DevicePlugin, program.Machine),
		}
	}
	return nil
}

// word is a message of the process that serves a lab to the one that started it.
type word struct {
	Say   string `json:"say,omitempty"`
	Error string `json:"error,omitempty"`
	Ready bool   `json:"ready,omitempty"`
}

// wordsFD is the file by which a lab's process tells its words.
const wordsFD = 3

func (a *app) up() *cobra.Command {
	var w wishes
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Start a lab, and leave it running",
		Example: `  lab up
  lab up --pods-only --iommu amd
  lab up --name translated --argument intel_iommu=on`,
		Args: arguments(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if _, err := w.options(); err != nil {
				return err
			}
			f, err := a.folder()
			if err != nil {
				return err
			}
			if f.runs() {
				return fmt.Errorf("lab %s is already running: '%s' shows it, '%s' stops it, --name starts another",
					a.name, a.typed("status"), a.typed("down"))
			}
			args := []string{"serve"}
			cmd.Flags().Visit(func(given *pflag.Flag) {
				if values, many := given.Value.(pflag.SliceValue); many {
					for _, value := range values.GetSlice() {
						args = append(args, "--"+given.Name+"="+value)
					}
				} else {
					args = append(args, "--"+given.Name+"="+given.Value.String())
				}
			})
			return a.start(cmd.Context(), f, args)
		},
	}
	w.flags(cmd)
	return cmd
}

// start runs the process that serves the lab, in a session of its own, and follows it until the lab is up.
func (a *app) start(ctx context.Context, f folder, args []string) error {
	if err := os.RemoveAll(string(f)); err != nil { // left by one that was killed
		return err
	}
	if err := os.MkdirAll(string(f), 0o700); err != nil {
		return err
	}
	log, err := os.Create(f.file(logFile))
	if err != nil {
		return err
	}
	defer log.Close()
	words, tell, err := os.Pipe()
	if err != nil {
		return err
	}
	defer words.Close()
	serve := exec.Command("/proc/self/exe", args...)
	serve.Stdout, serve.Stderr, serve.ExtraFiles = log, log, []*os.File{tell}
	serve.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = serve.Start()
	tell.Close()
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() {
		a.say("Interrupted: the lab goes down")
		_ = serve.Process.Signal(syscall.SIGTERM)
	})()
	begun := time.Now()
	for lines := bufio.NewScanner(words); lines.Scan(); {
		var w word
		if err := json.Unmarshal(lines.Bytes(), &w); err != nil {
			return err
		}
		switch {
		case w.Error != "":
			_ = serve.Wait()
			return errors.New(w.Error)
		case w.Ready:
			return a.introduce(f, time.Since(begun))
		}
		a.say("%4.0f s  %s", time.Since(begun).Seconds(), w.Say)
	}
	_ = serve.Wait()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fmt.Errorf("the lab ended before it was up; see %s", f.file(logFile))
}

// introduce says how to reach the lab.
func (a *app) introduce(f folder, took time.Duration) error {
	s, err := f.state()
	if err != nil {
		return err
	}
	a.say("%4.0f s  the lab is up", took.Seconds())
	for _, m := range s.Machines {
		a.say("        %s: %s; its console is %s", m.Name, a.typed("exec "+m.Name+" -- COMMAND"), m.Console)
	}
	a.say("        stop it: %s", a.typed("down"))
	if s.Kubeconfig != "" {
		fmt.Fprintf(a.out, "export KUBECONFIG=%s\n", s.Kubeconfig)
	}
	return nil
}
