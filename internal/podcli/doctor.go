package podcli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/rail"
	"github.com/railhead/railhead/internal/report"
	rules "github.com/railhead/railhead/internal/rules/machine"
)

// exitUndecided is doctor's: nothing is known to be wrong, and not all that matters is known.
const exitUndecided = 2

// diagnosis is what doctor prints, as one value for every format.
type diagnosis struct {
	Scope string `json:"scope"` // pod, host, node
	check.Report
}

// patient is the machine that is judged, and how.
type patient struct {
	machine
	rateGbps float64
	failOn   string
}

// The scopes beside those of package rail, and what --fail-on takes.
const (
	scopeAuto = "auto"
	scopeNode = "node"
	failNever = "never"
)

func (p *patient) flags(cmd *cobra.Command) {
	p.scope, p.failOn = scopeAuto, check.Fail.String()
	choiceFlag(cmd, &p.scope, "scope", "", "what to judge: what a pod was given, a job on the host's physical functions, or a node that serves pods; auto: a node where --root is a folder",
		scopeAuto, string(rail.Pod), string(rail.Host), scopeNode)
	choiceFlag(cmd, &p.failOn, "fail-on", "", "the mildest finding for which the exit status is 1", check.Fail.String(), check.Warn.String(), failNever)
	cmd.Flags().Float64Var(&p.rateGbps, "expect-rate", 0, "rate in Gb/s that every rail should have")
	p.rootFlag(cmd)
}

// judged is the scope that was meant.
func (p *patient) judged() string {
	if p.scope != scopeAuto {
		return p.scope
	}
	if info, err := os.Stat(p.root); p.root != "" && err == nil && info.IsDir() {
		return scopeNode
	}
	return string(rail.Pod)
}

func (p *patient) judge(s host.Snapshot) diagnosis {
	d := diagnosis{Scope: p.judged()}
	if d.Scope == scopeNode {
		d.Report = rules.Node(s)
	} else {
		d.Report = rules.Pod(s, rules.Options{Scope: rail.Scope(d.Scope), RateGbps: p.rateGbps})
	}
	return d
}

// verdict is the exit status.
func (p *patient) verdict(r check.Report) error {
	var least check.Status
	switch {
	case p.failOn == failNever:
		return nil
	case least.UnmarshalText([]byte(p.failOn)) == nil && check.Worst(r.Findings) >= least:
		return exitError{code: exitFault}
	case hasUnknown(r.Findings):
		return exitError{code: exitUndecided}
	}
	return nil
}

func newCheck(streams Streams) *cobra.Command {
	var p patient
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Say in one line whether RDMA will work here",
		Long: `check judges all that doctor judges, and prints one line: what is wrong first, or the rails.

Exit status: 0 when nothing failed; 1 when something did; 2 when something that matters could not be read.`,
		Example: `  railhead-pod check
  railhead-pod check --fail-on warn
  railhead-pod check --expect-rate 400`,
		Args:    noArguments,
		PreRunE: fromEnvironment,
		RunE: func(*cobra.Command, []string) error {
			here, err := p.open()
			if err != nil {
				return err
			}
			s := here.Snapshot()
			d := p.judge(s)
			report.Line(streams.Out, "%s", oneLineOf(d, s))
			return p.verdict(d.Report)
		},
	}
	p.flags(cmd)
	return cmd
}

// oneLineOf is the gravest finding, or what is healthy.
func oneLineOf(d diagnosis, s host.Snapshot) string {
	if bad := d.AtLeast(check.Unknown); len(bad) > 0 {
		more := ""
		if n := len(bad) - 1; n > 0 {
			more = fmt.Sprintf(" (and %d more: railhead-pod doctor)", n)
		}
		line, _ := report.Headline(bad, 0)
		return line + more
	}
	if d.Scope == scopeNode {
		return fmt.Sprintf("ok: %d RDMA devices; %s", len(s.Devices), report.Sum(d.Report))
	}
	rails := rail.Resolve(s, rail.Scope(d.Scope)).Rails
	names := make([]string, 0, len(rails))
	for _, r := range rails {
		names = append(names, r.Name())
	}
	return fmt.Sprintf("ok: %d rails (%s); %s", len(rails), strings.Join(names, ", "), report.Sum(d.Report))
}

func newDoctor(streams Streams) *cobra.Command {
	var p patient
	var watch time.Duration
	format := "text"
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Say everything that keeps RDMA from working here, root cause first, with the fix",
		Long: `doctor judges what this pod got: devices, limits, libraries, networks and the environment of NCCL. With --root it judges
another machine; a folder, such as /host in a debug pod, is taken for a node. What follows from a finding is not printed beside it.

Exit status: 0 when nothing is as grave as --fail-on; 1 when something is; 2 when something that matters could not be
read, and for a wrong command line.`,
		Example: `  railhead-pod doctor
  railhead-pod doctor -o wide                      also remarks, what passed, and what was not looked at
  railhead-pod doctor --root /host                 the node, from a debug pod
  railhead-pod doctor --root /host --watch 30s     what its ports count in that time
  railhead-pod doctor -o json --root pod.txtar`,
		Args:    noArgumentsButPeriod,
		PreRunE: fromEnvironment,
		RunE: func(*cobra.Command, []string) error {
			here, err := p.open()
			if err != nil {
				return err
			}
			s, err := p.read(here, watch)
			if err != nil {
				return err
			}
			d := p.judge(s)
			if s.Earlier != nil {
				d.add(rules.Watch(*s.Earlier, s))
			}
			if err := d.write(streams.Out, format); err != nil {
				return err
			}
			return p.verdict(d.Report)
		},
	}
	p.flags(cmd)
	choiceFlag(cmd, &format, "output", "o", "form of the output", "text", "wide", "json", "yaml")
	watchFlag(cmd, &watch, "read again after this time, and judge what the ports counted in it")
	return cmd
}

// add puts another catalogue's report behind this one, the gravest findings of both first.
func (d *diagnosis) add(r check.Report) {
	all := d.Report
	all.Findings = nil
	for _, status := range []check.Status{check.Fail, check.Warn, check.Unknown, check.Skipped, check.Pass} {
		for _, from := range []check.Report{d.Report, r} {
			for _, f := range from.Findings {
				if f.Status == status {
					all.Findings = append(all.Findings, f)
				}
			}
		}
	}
	all.Passed, all.Skipped = append(all.Passed, r.Passed...), append(all.Skipped, r.Skipped...)
	d.Report = all
}

func (d diagnosis) write(w io.Writer, format string) error {
	if format == "json" || format == "yaml" {
		return report.Encode(w, format, d)
	}
	report.Diagnosis(w, d.Report, format == "wide")
	return nil
}
