package podcli

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/exit"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/rail"
	"github.com/railhead/railhead/internal/report"
	rules "github.com/railhead/railhead/internal/rules/machine"
)

// diagnosis is the output of doctor.
type diagnosis struct {
	Scope string `json:"scope"` // pod, host, node
	check.Report
}

// target is the machine that check and doctor judge, and how.
type target struct {
	machine
	rateGbps float64
	failOn   string
}

// The scopes that package rail does not have, and a value of --fail-on.
const (
	scopeAuto = "auto"
	scopeNode = "node"
	failNever = "never"
)

func (t *target) addFlags(flags *pflag.FlagSet) {
	t.scope, t.failOn = scopeAuto, check.Fail.String()
	choiceFlag(flags, &t.scope, "scope",
		"pod: the devices given to a pod; host: a job on the host's physical functions; node: a node that runs pods; "+
			"auto: node if --root is a folder, else pod",
		scopeAuto, string(rail.Pod), string(rail.Host), scopeNode)
	choiceFlag(flags, &t.failOn, "fail-on", "least severe finding that makes the exit status 1",
		check.Fail.String(), check.Warn.String(), failNever)
	flags.Float64Var(&t.rateGbps, "expect-rate", 0, "expected rate of every rail in Gb/s")
	t.rootFlag(flags)
}

func (t *target) resolvedScope() string {
	if t.scope != scopeAuto {
		return t.scope
	}
	if info, err := os.Stat(t.root); t.root != "" && err == nil && info.IsDir() {
		return scopeNode
	}
	return string(rail.Pod)
}

func (t *target) judge(s host.Snapshot) diagnosis {
	d := diagnosis{Scope: t.resolvedScope()}
	if d.Scope == scopeNode {
		d.Report = rules.Node(s)
	} else {
		d.Report = rules.Pod(s, rules.Options{Scope: rail.Scope(d.Scope), RateGbps: t.rateGbps})
	}
	return d
}

func (t *target) exitError(r check.Report) error {
	var limit check.Status
	switch {
	case t.failOn == failNever:
		return nil
	case limit.UnmarshalText([]byte(t.failOn)) == nil && check.Worst(r.Findings) >= limit:
		return exit.Error{Code: exit.Fault}
	}
	return unknownError(r.Findings)
}

func unknownError(findings []check.Finding) error {
	if slices.ContainsFunc(findings, func(f check.Finding) bool { return f.Status == check.Unknown }) {
		return exit.Error{Code: exit.Unknown}
	}
	return nil
}

func newCheck(streams Streams) *command {
	var t target
	c := newCommand("check")
	c.short = "Say in one line whether RDMA works here"
	c.long = `check runs all checks of doctor and prints one line: the most severe finding, or the rails.

Exit status: 0 if nothing failed; 1 if something did; 3 if something that matters could not be read; 2 for a wrong
command line.`
	c.example = `  railhead-pod check
  railhead-pod check --fail-on warn
  railhead-pod check --expect-rate 400`
	c.run = func([]string) error {
		here, err := t.open()
		if err != nil {
			return err
		}
		s := here.Snapshot()
		d := t.judge(s)
		report.Line(streams.Out, "%s", d.headline(s))
		return t.exitError(d.Report)
	}
	t.addFlags(c.flags)
	return c
}

func (d diagnosis) headline(s host.Snapshot) string {
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
	names := rail.Resolve(s, rail.Scope(d.Scope)).Names()
	return fmt.Sprintf("ok: %d rails (%s); %s", len(names), strings.Join(names, ", "), report.Sum(d.Report))
}

func newDoctor(streams Streams) *command {
	var t target
	var watch time.Duration
	format := "text"
	c := newCommand("doctor")
	c.short = "Find everything that keeps RDMA from working here, root cause first, with the fix"
	c.long = `doctor checks the devices, limits, libraries and networks of this pod, and the environment of NCCL. With
--root it checks another machine. A folder, such as /host in a debug pod, is checked as a node. Consequences of a
finding are not printed.

Exit status: 0 if no finding reaches --fail-on; 1 if one does; 3 if something that matters could not be read; 2 for a
wrong command line.`
	c.example = `  railhead-pod doctor
  railhead-pod doctor -o wide                      also remarks, passed and skipped checks
  railhead-pod doctor --root /host                 the node, from a debug pod
  railhead-pod doctor --root /host --watch 30s     also what its ports count in that time
  railhead-pod doctor -o json --root pod.txtar`
	c.run = func([]string) error {
		here, err := t.openWatched(watch)
		if err != nil {
			return err
		}
		s := here.Snapshot()
		d := t.judge(s)
		if s.Earlier != nil {
			d.Add(rules.Watch(*s.Earlier, s))
		}
		if err := d.write(streams.Out, format); err != nil {
			return err
		}
		return t.exitError(d.Report)
	}
	t.addFlags(c.flags)
	outputFlag(c.flags, &format, "text", "wide", "json", "yaml")
	watchFlag(c, &watch, "read again after this time and judge what the ports counted")
	return c
}

func (d diagnosis) write(w io.Writer, format string) error {
	if format == "json" || format == "yaml" {
		return report.Encode(w, format, d)
	}
	report.Diagnosis(w, d.Report, format == "wide")
	return nil
}
