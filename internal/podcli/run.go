package podcli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sort"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/exit"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/host/sysfs"
	"github.com/railhead/railhead/internal/nccl"
	"github.com/railhead/railhead/internal/podrun"
	"github.com/railhead/railhead/internal/rail"
	"github.com/railhead/railhead/internal/report"
	"github.com/railhead/railhead/internal/words"
)

func newRun(streams Streams) *command {
	var m machine
	var p policyFlags
	var quiet bool
	r := start{preflight: newRailTest(), rails: allRails}
	c := newCommand("run")
	c.arguments = "[flags] (-- COMMAND [ARG...] | --write DIR)"
	c.short = "Set NCCL up for this pod's rails and start the training command"
	c.long = `run finds the pod's RDMA devices, raises the locked-memory limit, sets the environment of NCCL, UCX,
NVSHMEM, Gloo and PyTorch, and replaces itself with COMMAND. The process ID stays the same, so signals and the
exit code are the command's own. Variables that are already set are kept, unless they contradict the machine:
run replaces those, and says so.

In mode rdma run does not start the command if training could not use every rail of the pod: without a rail,
with a rail that does not work, with a variable that forces TCP, or without the right to lock memory.

With --write DIR run starts no command. After the same tests it writes the environment to DIR, as nccl.conf for NCCL and
as env.sh for shells. Use it in an init container if something else starts the command, such as sshd or Ray. NCCL reads
its file only for variables that are not set, so run then replaces nothing that the environment sets. In mode rdma it
writes no files if a variable of the environment contradicts what this pod needs.

Every flag can also be set by a variable: RAILHEAD_MODE=auto, RAILHEAD_GDR_LEVEL=PHB, RAILHEAD_QUIET=true.

Exit status: that of COMMAND; 125 if run does not start it, or writes no files; 126 if it cannot be executed; 127 if it
is not found.`
	c.example = `  railhead-pod run -- torchrun --nnodes 2 --nproc-per-node 8 train.py
  railhead-pod run --mode auto -- python train.py      fall back to TCP, with a warning, if there is no rail
  railhead-pod run --mode tcp -- python train.py       use TCP only, to compare
  railhead-pod run --rails any -- python train.py      use the rails that work
  railhead-pod run --override -- ./train.sh            replace NCCL_* variables of the image
  railhead-pod run --preflight=fail -- ./train.sh      test every rail first; do not start over a broken one
  railhead-pod run --write /railhead/conf              in an init container`
	c.check = func(args []string) ([]string, error) {
		switch {
		case len(args) == 0 && r.dir == "":
			return nil, errors.New("no command to start: railhead-pod run -- COMMAND")
		case len(args) > 0 && r.dir != "":
			return nil, errors.New("--write starts no command: leave out " + args[0])
		}
		return args, r.preflight.check(args)
	}
	c.run = func(args []string) error {
		policy, err := p.policy()
		if err != nil {
			return err
		}
		out := &messages{to: streams.Err, quiet: quiet}
		defer out.flush()
		r.argv, r.scope, r.policy = args, rail.Scope(m.scope), policy
		return r.run(out)
	}
	p.add(c.flags)
	m.scopeFlag(c.flags)
	c.flags.BoolVarP(&quiet, "quiet", "q", false, "print only why the command does not run over RDMA")
	c.flags.StringVar(&r.dir, "write", "", "write the environment to files in this `folder`, and start no command")
	r.preflight.flags(c.flags)
	choiceFlag(c.flags, &r.rails, "rails",
		"in mode rdma, all: do not start unless every rail that the pod was given works; any: use those that work",
		allRails, anyRail)
	c.flags.SetInterspersed(false)
	return c
}

// messages collects the messages of a run and writes them at once, so that the ranks of a node do not mix their lines.
type messages struct {
	bytes.Buffer // warnings
	to           io.Writer
	quiet        bool // only warnings are wanted
}

func (m *messages) info() io.Writer {
	if m.quiet {
		return io.Discard
	}
	return m
}

func (m *messages) flush() { _, _ = m.WriteTo(m.to) }

// The values of --rails.
const (
	allRails = "all"
	anyRail  = "any"
)

// start is a command and the conditions under which it is started.
type start struct {
	argv      []string
	scope     rail.Scope
	policy    nccl.Policy
	preflight railTest
	rails     string
	dir       string          // where the environment is written instead of starting a command; "": none
	fixed     []check.Finding // variables that no file replaces
}

// decide reads what a launch needs, and everything if the command is not started: the explanation needs that. If the
// environment is written for other processes, r.fixed gets the variables that no file replaces.
func (r *start) decide(here sysfs.Machine) (host.Snapshot, decision) {
	s := sysfs.ReadForLaunch(here.Root, here.Probes, rail.Wanted)
	d := decide(s, r.scope, r.policy)
	if others := unreplaced(d.vars, s); r.dir != "" && len(others) > 0 {
		r.fixed = fixedByEnvironment(others, s)
		r.policy.Correct = false
		d = decide(s, r.scope, r.policy)
	}
	if (len(d.blocking()) > 0 || r.needsAll(d)) && s.ReachesDevice() {
		d = decide(here.Snapshot(), r.scope, r.policy)
	}
	return s, d
}

// run starts the command. Messages are flushed before, because nothing of this process is left afterwards.
func (r start) run(out *messages) error {
	here, err := sysfs.Open("/")
	if err != nil {
		return exit.Error{Code: exit.Refused, Err: err}
	}
	s, d := r.decide(here)
	memlock := podrun.RaiseMemlock(here)
	limit, short := memlock.Finding()
	if reasons := r.refuses(d, limit); len(reasons) > 0 {
		writeGiven(out, d.resolution)
		writeRefusal(out, reasons)
		return exit.Error{Code: exit.Refused}
	}
	fmt.Fprintf(out.info(), "Memory lock limit: %s\n", memlock)
	if r.policy.Mode != nccl.TCP {
		if short && d.noRail == nil {
			report.Findings(out, []check.Finding{limit}, report.Full)
		}
		writeDevices(out.info(), d.resolution)
	}
	report.Findings(out.info(), d.remarks(), report.Brief)
	warnOfFallback(out, d)
	writeVars(out.info(), d.vars)
	if err := d.preflight(r.preflight, here, memlock, out); err != nil {
		return err
	}
	if r.dir != "" {
		return r.write(out, append(d.vars, fileVars(d.vars, s)...))
	}
	if err := podrun.WriteFiles(podrun.RunDir, here.Process(), d.vars); err == nil {
		fmt.Fprintf(out.info(), "The same environment for other shells: . %s/env.sh\n", podrun.RunDir)
	}
	out.flush()
	err = podrun.Exec(r.argv, podrun.Environment(os.Environ(), d.vars))
	return exit.Error{Code: podrun.ExitCode(err), Err: err}
}

// refusal is one reason not to start a command that requires RDMA.
type refusal struct {
	why      string
	findings []check.Finding
	instead  string
}

// needsAll reports whether the command is not started because a rail of the pod does not work.
func (r start) needsAll(d decision) bool {
	return r.policy.Mode == nccl.RDMA && r.rails == allRails && len(d.unusable) > 0
}

// refuses returns why the command is not started in mode rdma. limit is the finding about locked memory, if any.
func (r start) refuses(d decision, limit check.Finding) []refusal {
	const instead = "Use --mode auto to fall back to TCP, or --mode tcp to use TCP only."
	var reasons []refusal
	blocking := d.blocking()
	switch {
	case r.policy.Mode != nccl.RDMA:
		return nil
	case d.noRail != nil:
		return []refusal{{"no usable RDMA device was found", blocking, instead}}
	case len(r.fixed) > 0:
		reasons = append(reasons, refusal{"NCCL would not read its settings from the files", r.fixed,
			"RAILHEAD_KEEP=true keeps the values that are set."})
		blocking = slices.DeleteFunc(blocking, func(f check.Finding) bool {
			return slices.ContainsFunc(r.fixed, func(o check.Finding) bool { return o.Subject == f.Subject })
		})
	}
	if len(blocking) > 0 {
		reasons = append(reasons, refusal{"the environment keeps NCCL from using it", blocking, instead})
	}
	if r.needsAll(d) {
		reasons = append(reasons, refusal{"not every rail of the pod works", d.unusable,
			"RAILHEAD_RAILS=any, or the flag --rails any of railhead-pod, uses those that work."})
	}
	if limit.Status == check.Fail {
		reasons = append(reasons, refusal{"the pod cannot lock enough memory", []check.Finding{limit},
			"Use --mode auto to start in any case, or --mode tcp to use TCP only."})
	}
	return reasons
}

// writeGiven writes which source gave the pod which device, if not all of them work: the findings name devices, and
// manifests resources. It comes before the reasons: the kubelet keeps the end of the output.
func writeGiven(w io.Writer, r rail.Resolution) {
	t := report.Table{Columns: []string{"DEVICE", "GIVEN BY", "STATE"}}
	add := func(device, state string, sources []string) {
		listed := slices.DeleteFunc(slices.Clone(sources), func(s string) bool {
			plain, isInfo := strings.CutSuffix(s, "_INFO") // of the same resource
			return isInfo && slices.Contains(sources, plain)
		})
		if len(listed) > 0 {
			t.Rows = append(t.Rows, []string{device, strings.Join(listed, ", "), state})
		}
	}
	missed := false
	for _, x := range r.Rejected {
		add(x.Name(), "not used: "+x.Reason, x.Sources)
		missed = missed || x.Missed
	}
	for _, x := range r.Rails {
		add(x.Name(), "works", x.Sources)
	}
	if missed {
		sort.Slice(t.Rows, func(i, k int) bool { return words.Natural(t.Rows[i][0], t.Rows[k][0]) < 0 })
		_ = t.Write(w) // to memory
	}
}

func writeRefusal(w io.Writer, reasons []refusal) {
	for _, r := range reasons {
		fmt.Fprintf(w, "railhead-pod: not started: RDMA is required (--mode rdma) but %s\n", r.why)
		report.Findings(w, r.findings, report.Full)
		fmt.Fprintln(w, r.instead)
	}
}

// writeDevices prints the lines that users' scripts search for.
func writeDevices(w io.Writer, r rail.Resolution) {
	if len(r.Rails) == 0 {
		return
	}
	found, kind := "allocated SR-IOV", "SR-IOV allocated"
	if slices.ContainsFunc(r.Rails, func(r rail.Rail) bool { return !r.Virtual }) {
		found, kind = "RDMA", "RDMA"
	}
	devices := r.Devices()
	fmt.Fprintf(w, "Auto-detected %s devices: %s\n", found, strings.Join(devices, ","))
	fmt.Fprintf(w, "Found %d %s device(s)\n", len(devices), kind)
}

func writeVars(w io.Writer, vars []nccl.Var) {
	for _, v := range vars {
		text := v.Name + "=" + v.Value
		if v.Source == nccl.LeftUnset {
			text = v.Name + " unset"
		}
		report.Line(w, "  %s  # %s", text, v.Reason)
	}
}

// warnOfFallback prints a block that cannot be overlooked if the command does not run over RDMA.
func warnOfFallback(w io.Writer, d decision) {
	blocking := d.blocking()
	if len(blocking) == 0 {
		return
	}
	bar := strings.Repeat("*", 100)
	text, overTCP := d.consequence()
	fmt.Fprintln(w, bar)
	report.Line(w, "%s", text)
	if overTCP {
		fmt.Fprintln(w, "Expect about "+rail.SlowerOverTCP+" less bandwidth: 0.98 GiB/s over the pod network instead",
			"of 83 GiB/s, measured with four 400 Gb/s rails.")
	}
	fmt.Fprintln(w, "Why:")
	report.Findings(w, blocking, report.Full)
	fmt.Fprintln(w, bar)
}
