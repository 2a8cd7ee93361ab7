package podcli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/launch"
	"github.com/railhead/railhead/internal/nccl"
	"github.com/railhead/railhead/internal/rail"
	"github.com/railhead/railhead/internal/report"
)

func newRun(streams Streams) *cobra.Command {
	var m machine
	var w wishes
	var quiet bool
	preflight := preflightOff
	cmd := &cobra.Command{
		Use:   "run [flags] -- COMMAND [ARG...]",
		Short: "Set NCCL up for this pod's rails and start the training command in its place",
		Long: `run finds the pod's RDMA devices, lifts the locked-memory limit, sets the environment of NCCL, UCX, NVSHMEM, Gloo and
PyTorch, and replaces itself by COMMAND: same process id, so that signals and the exit code are the command's own.
What the environment sets already is kept; where it contradicts the machine, run says so.

Every flag can also be given as a variable: RAILHEAD_MODE=auto, RAILHEAD_GDR_LEVEL=PHB, RAILHEAD_QUIET=true.

Exit status: that of COMMAND; 125 when run refuses to start it; 126 when it cannot be invoked; 127 when it is not found.`,
		Example: `  railhead-pod run -- torchrun --nnodes 2 --nproc-per-node 8 train.py
  railhead-pod run --mode auto -- python train.py      TCP, loudly, where there is no rail
  railhead-pod run --mode tcp -- python train.py       TCP on purpose, to compare
  railhead-pod run --override -- ./train.sh            replace NCCL_* variables of the image
  railhead-pod run --preflight=fail -- ./train.sh      try every rail first, and do not start over a broken one`,
		PreRunE: fromEnvironment,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("no command to start: railhead-pod run -- COMMAND")
			}
			if err := preflightWord(args); err != nil {
				return err
			}
			policy, err := w.policy()
			if err != nil {
				return err
			}
			var said bytes.Buffer // one write, so that the ranks of a node do not tear each other's lines
			talk := io.Writer(&said)
			if quiet {
				talk = io.Discard
			}
			say := func() { _, _ = said.WriteTo(streams.Err) }
			defer say()
			return run(args, rail.Scope(m.scope), policy, preflight, talk, &said, say)
		},
	}
	w.flags(cmd)
	m.scopeFlag(cmd)
	cmd.Flags().BoolVarP(&quiet, "quiet", "q", false, "say only why the command is not started over RDMA")
	preflightFlag(cmd, &preflight)
	cmd.Flags().SetInterspersed(false)
	return cmd
}

// run starts the command; quiet suppresses talk, not alarm. say delivers both, since nothing comes after exec.
func run(argv []string, scope rail.Scope, policy nccl.Policy, preflight string, talk, alarm io.Writer, say func()) error {
	here, err := host.Open("/")
	if err != nil {
		return exitError{exitRefused, err}
	}
	d := decide(host.ReadForLaunch(here.Root, here.Probes, rail.Wanted), scope, policy)
	if len(d.refusal()) > 0 {
		d = decide(here.Snapshot(), scope, policy) // to explain it, everything is read
	}
	if fatal := d.refusal(); policy.Mode == nccl.RDMA && len(fatal) > 0 {
		refuse(alarm, fatal)
		return exitError{code: exitRefused}
	}
	memlock := launch.RaiseMemlock(here)
	fmt.Fprintf(talk, "Memory lock limit: %s\n", memlock)
	if policy.Mode != nccl.TCP {
		if f, short := memlock.Finding(); short && d.noRail == nil {
			report.Findings(alarm, []check.Finding{f}, report.Full)
		}
		sayRails(talk, d.resolution)
	}
	report.Findings(talk, d.remarks(), report.Brief)
	sayFallback(alarm, d)
	sayVars(talk, d.vars)
	if err := d.preflight(preflight, here, memlock, talk, alarm, say); err != nil {
		return err
	}
	if err := launch.WriteFiles(launch.RunDir, here.Process(), d.vars); err == nil {
		fmt.Fprintf(talk, "The same environment for other shells: . %s/env.sh\n", launch.RunDir)
	}
	say()
	err = launch.Exec(argv, launch.Environment(os.Environ(), d.vars))
	return exitError{launch.ExitCode(err), err}
}

// refuse says why nothing was started, and how to start all the same.
func refuse(w io.Writer, fatal []check.Finding) {
	fmt.Fprintln(w, "railhead-pod: not started: RDMA was asked for and is not to be had")
	report.Findings(w, fatal, report.Full)
	fmt.Fprintln(w, "To train over TCP where there is no rail, say --mode auto; over TCP on purpose, --mode tcp.")
}

// sayRails keeps the lines that scripts look for.
func sayRails(w io.Writer, r rail.Resolution) {
	if len(r.Rails) == 0 {
		return
	}
	kind := "SR-IOV allocated"
	for _, rail := range r.Rails {
		if !rail.Virtual {
			kind = "RDMA"
		}
	}
	devices := r.Devices()
	if kind == "RDMA" {
		fmt.Fprintf(w, "Auto-detected RDMA devices: %s\n", strings.Join(devices, ","))
	} else {
		fmt.Fprintf(w, "Auto-detected allocated SR-IOV devices: %s\n", strings.Join(devices, ","))
	}
	fmt.Fprintf(w, "Found %d %s device(s)\n", len(devices), kind)
}

// sayVars writes one line per variable with its reason.
func sayVars(w io.Writer, vars []nccl.Var) {
	for _, v := range vars {
		text := v.Name + "=" + v.Value
		if v.Source == nccl.LeftUnset {
			text = v.Name + " unset"
		}
		report.Line(w, "  %s  # %s", text, v.Reason)
	}
}

// sayFallback is the one block that nobody shall overlook: the command is started, and not over RDMA.
func sayFallback(w io.Writer, d decision) {
	why := d.refusal()
	if len(why) == 0 {
		return
	}
	bar := strings.Repeat("*", 100)
	text, costs := d.outcome()
	fmt.Fprintln(w, bar)
	report.Line(w, "%s", text)
	if costs {
		fmt.Fprintln(w, "What it costs: with four 400 Gb/s rails 0.98 GiB/s were measured over TCP of the pod network instead of 83 GiB/s, 85 times less.")
	}
	fmt.Fprintln(w, "Why:")
	report.Findings(w, why, report.Full)
	fmt.Fprintln(w, bar)
}
