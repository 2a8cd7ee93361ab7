package vm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/u-root/u-root/pkg/cpio"

	"github.com/railhead/railhead/lab/controlplane/process"
	"github.com/railhead/railhead/lab/machines/guest"
)

// VM is a machine. Its methods but Agent are for one goroutine.
type VM struct {
	Spec    Spec
	Agent   *guest.Client
	Address string // of the agent, on this host

	group   *process.Group
	process *process.Process
}

// Start starts a machine; Ready waits for it. port is that of the host's which leads to the machine's agent.
func Start(group *process.Group, s Spec, port int) (*VM, error) {
	s.Forwards = maps.Clone(s.Forwards)
	if s.Forwards == nil {
		s.Forwards = map[int]int{}
	}
	s.Forwards[port] = guest.AgentPort
	v := &VM{Spec: s, group: group, Address: fmt.Sprintf("127.0.0.1:%d", port)}
	v.Agent = guest.NewClient(v.Address, s.Config.Token)
	return v, v.boot()
}

func (v *VM) boot() error {
	own := filepath.Join(v.Spec.Dir, OwnFolder)
	if err := os.MkdirAll(own, 0o755); err != nil {
		return err
	}
	text, err := json.MarshalIndent(v.Spec.Config, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(own, guest.ConfigFile), text, 0o644); err != nil {
		return err
	}
	initrd := filepath.Join(v.Spec.Dir, "initrd")
	if err := v.writeInitrd(initrd); err != nil {
		return fmt.Errorf("make the initial file system of %s: %w", v.Spec.Config.Name, err)
	}
	if err := os.Remove(v.Console()); err != nil && !os.IsNotExist(err) {
		return err
	}
	qemu := v.Spec.Parts.QEMU
	v.process, err = v.group.Start(process.Command{
		Name: v.Spec.Config.Name, Program: qemu[0], Env: v.Spec.Parts.QEMUEnv,
		Args: append(slices.Clone(qemu[1:]), v.Spec.arguments(initrd, v.Console())...),
	})
	return err
}

// writeInitrd puts the program that is to be init behind the root file system: the kernel unpacks one archive after the
// other (Documentation/driver-api/early-userspace/buffer-format.rst).
func (v *VM) writeInitrd(path string) error {
	base, err := os.Open(v.Spec.Parts.Base)
	if err != nil {
		return err
	}
	defer base.Close()
	program, err := os.ReadFile(v.Spec.Init)
	if err != nil {
		return err
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := io.Copy(f, base); err != nil {
		return err
	}
	archive := cpio.Newc.Writer(f)
	if err := cpio.WriteRecords(archive, []cpio.Record{cpio.StaticFile("init", string(program), 0o755)}); err != nil {
		return err
	}
	return errors.Join(cpio.WriteTrailer(archive), f.Close())
}

// Console is the file with the output of the kernel and init.
func (v *VM) Console() string { return filepath.Join(v.Spec.Dir, "console.log") }

// Ready waits until the machine is as its config describes.
func (v *VM) Ready(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		select {
		case <-v.process.Exited():
			cancel(v.Err())
		case <-ended:
		}
	}()
	if _, err := v.Agent.WaitReady(ctx); err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return fmt.Errorf("%s is not ready: %w; the end of its console %s:\n%s", v.Spec.Config.Name, err, v.Console(),
			v.lastWords())
	}
	return nil
}

// lastWords is the end of the console.
func (v *VM) lastWords() string {
	const most = 15
	text, err := os.ReadFile(v.Console())
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-most):], "\n")
}

// Reboot takes the machine's power away and boots it as change leaves its Spec. Nothing that was written in it stays.
func (v *VM) Reboot(change func(*Spec)) error {
	v.Kill()
	change(&v.Spec)
	return v.boot()
}

// Kill takes the machine's power away.
func (v *VM) Kill() { v.process.Kill() }

// Err says how the machine ended; nil while it runs.
func (v *VM) Err() error { return v.process.Err() }

func sortedKeys(m map[int]int) []int { return slices.Sorted(maps.Keys(m)) }
