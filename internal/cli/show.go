package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/report"
)

// showPlan writes a plan for the person who is to agree to it.
func showPlan(w io.Writer, p plan.Plan) {
	fmt.Fprintf(w, "Plan: %s\n", p.Title)
	if p.Empty() {
		fmt.Fprintln(w, "  Nothing to do: everything is so already.")
	}
	for i, step := range p.Steps {
		fmt.Fprintf(w, "  %d. %s\n", i+1, step.Title)
		showChanges(w, step.Changes)
		for _, r := range step.Disruption.Reboots {
			fmt.Fprintf(w, "     REBOOTS %s of pool %s, once each, %d at a time: %s\n", count(len(r.Nodes), "node"), r.Pool, max(1, r.AtOnce), shorten(r.Nodes))
		}
		switch {
		case len(step.Disruption.Reboots) > 0:
			fmt.Fprintln(w, "     EVICTS the pods of each node before it reboots")
		case step.Disruption.RestartsPods:
			fmt.Fprintln(w, "     RESTARTS the pods")
		}
	}
	for _, note := range p.Notes {
		fmt.Fprintf(w, "  Note: %s\n", note)
	}
}

// showChanges writes one line for each object, and one for several of a kind that are changed for the same reason.
func showChanges(w io.Writer, changes []plan.Change) {
	for len(changes) > 0 {
		alike := 1
		for alike < len(changes) && sameIntent(changes[0], changes[alike]) {
			alike++
		}
		var names []string
		for _, c := range changes[:alike] {
			names = append(names, c.Object.GetName())
		}
		c := changes[0]
		kind := c.Object.GetKind()
		if alike > 1 {
			kind = count(alike, kind)
		}
		if ns := c.Object.GetNamespace(); ns != "" {
			names[0] = ns + "/" + names[0]
		}
		line := fmt.Sprintf("     %-6s %s %s", c.Verb, kind, shortenBy(names, 2))
		if c.Why != "" {
			line += "  (" + c.Why + ")"
		}
		fmt.Fprintln(w, line)
		changes = changes[alike:]
	}
}

func sameIntent(a, b plan.Change) bool {
	return a.Verb == b.Verb && a.Why == b.Why && a.Object.GetKind() == b.Object.GetKind() && a.Object.GetNamespace() == b.Object.GetNamespace()
}

// writeManifests writes the objects of a plan as YAML documents, for a repository that a GitOps controller follows.
func writeManifests(w io.Writer, p plan.Plan) error {
	for _, c := range p.Changes() {
		if c.Verb != plan.Apply {
			fmt.Fprintf(w, "# left out: %s of %s %s\n", c.Verb, c.Object.GetKind(), c.Object.GetName())
			continue
		}
		fmt.Fprintln(w, "---")
		if err := report.Encode(w, "yaml", c.Object.Object); err != nil {
			return err
		}
	}
	return nil
}

// refuse writes the findings; it returns an error when one of them forbids to go on.
func (a *app) refuse(findings []check.Finding) error {
	a.findings(findings...)
	if check.Worst(findings) == check.Fail {
		return exitError{exitFault, errors.New("nothing was written")}
	}
	return nil
}

// findings writes findings with their evidence and their fix.
func (a *app) findings(all ...check.Finding) { report.Findings(a.streams.Err, all, report.Full) }

// agree asks the person at the terminal; without one, only --yes agrees.
func (a *app) agree(yes bool) error {
	if yes {
		return nil
	}
	if !a.streams.TTY {
		return exitError{exitUsage, errors.New("not applied: there is no terminal to ask on; --yes agrees to the plan, --dry-run=client only shows it")}
	}
	fmt.Fprint(a.streams.Err, "Apply this plan? [y/N] ")
	answer, err := bufio.NewReader(a.streams.In).ReadString('\n')
	if err != nil && answer == "" {
		return fault(errors.New("no answer: nothing was written"))
	}
	if answer = strings.ToLower(strings.TrimSpace(answer)); answer != "y" && answer != "yes" {
		return fault(errors.New("not agreed: nothing was written"))
	}
	return nil
}

// count writes a number with its noun: "1 node", "13 nodes".
func count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// shorten lists few names and counts many.
func shorten(names []string) string { return shortenBy(names, 6) }

func shortenBy(names []string, shown int) string {
	if len(names) <= shown+1 {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:shown], ", "), len(names)-shown)
}
