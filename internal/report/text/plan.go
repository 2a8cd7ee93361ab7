package text

import (
	"fmt"
	"io"

	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/words"
)

// Plan writes the steps of a plan, which nodes reboot, and its notes.
func Plan(w io.Writer, p plan.Plan) {
	fmt.Fprintf(w, "Plan: %s\n", p.Title)
	if p.Empty() {
		fmt.Fprintln(w, "  Nothing to do: this is already done.")
	}
	for i, step := range p.Steps {
		fmt.Fprintf(w, "  %d. %s\n", i+1, step.Title)
		showChanges(w, step.Changes)
		for _, r := range step.Disruption.Reboots {
			fmt.Fprintf(w, "     REBOOTS %s of pool %s, once each, %d at a time: %s\n",
				words.Count(len(r.Nodes), "node"), r.Pool, max(1, r.AtOnce), words.Few(r.Nodes, 6))
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

// showChanges writes one line for each object, or for several of a kind with the same change.
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
			kind = words.Count(alike, kind)
		}
		if ns := c.Object.GetNamespace(); ns != "" {
			names[0] = ns + "/" + names[0]
		}
		line := fmt.Sprintf("     %-6s %s %s", c.Verb, kind, words.Few(names, 2))
		if c.Why != "" {
			line += "  (" + c.Why + ")"
		}
		fmt.Fprintln(w, line)
		changes = changes[alike:]
	}
}

func sameIntent(a, b plan.Change) bool {
	sameKind := a.Object.GetKind() == b.Object.GetKind() && a.Object.GetNamespace() == b.Object.GetNamespace()
	return sameKind && a.Verb == b.Verb && a.Why == b.Why
}
