package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/report"
	"github.com/railhead/railhead/internal/rules"
)

// mostEvidence is how many lines of a log stand below each statement, and how many statements of a kind, unless wide.
const mostEvidence = 3

// storyWriter writes a story for people.
type storyWriter struct {
	out  io.Writer
	wide bool
}

func (w storyWriter) line(format string, args ...any) { report.Line(w.out, format, args...) }

func (w storyWriter) write(s rules.Story) {
	for i, run := range s.Runs {
		if i > 0 {
			fmt.Fprintln(w.out)
		}
		if len(s.Runs) > 1 {
			w.line("Run %d of %d", i+1, len(s.Runs))
		}
		w.run(run)
	}
	if len(s.Runs) == 0 {
		w.line("No log was read")
	}
}

func (w storyWriter) run(r rules.Run) {
	w.line("Ran:       %s", ran(r))
	w.line("Network:   %s", networkLine(r.Network))
	w.evidence(r.Network.Evidence)
	w.line("GPUDirect: %s", joined(string(r.GPUDirect), r.GPUReason))
	w.line("Outcome:   %s", outcomeLine(r))
	w.differences(r.Differences)
	w.causes(r.Causes)
	w.victims(r.Victims)
}

// ran is what ran, and on what.
func ran(r rules.Run) string {
	version := "NCCL of a version that no line says"
	if r.NCCLVersion != "unknown" && r.NCCLVersion != "" {
		version = "NCCL " + r.NCCLVersion
	}
	where := "on how many ranks no line says"
	switch {
	case r.Ranks > 0 && r.Nodes > 0:
		where = fmt.Sprintf("%s on %s", count(r.Ranks, "rank"), count(r.Nodes, "node"))
	case r.Ranks > 0:
		where = count(r.Ranks, "rank")
	case r.Nodes > 0:
		where = count(r.Nodes, "node")
	}
	return version + ", " + where
}

func networkLine(n rules.Network) string {
	name := string(n.Kind)
	if n.Name != "" && n.Name != name {
		name = fmt.Sprintf("%s (%s)", n.Name, n.Kind)
	}
	used := "not known whether it was used"
	switch {
	case n.Used != nil && *n.Used:
		used = "used"
	case n.Used != nil:
		used = "not used"
	}
	return joined(name+", "+used, n.Why)
}

// outcomeLine leaves to the causes what they say.
func outcomeLine(r rules.Run) string {
	switch {
	case len(r.Causes) > 0:
		return string(r.Outcome)
	case r.Outcome == rules.OutcomeOK:
		return "ok: no line speaks of a fault"
	}
	return joined(string(r.Outcome), r.Summary)
}

// joined puts a reason behind a fact.
func joined(fact, reason string) string {
	if reason == "" {
		return fact
	}
	return fact + ": " + reason
}

func (w storyWriter) evidence(all []rules.Evidence) {
	for i, e := range all {
		if i == mostEvidence && !w.wide {
			w.line("      and %s more", count(len(all)-i, "line"))
			return
		}
		w.line("      %s:%d  %s", e.File, e.Line, e.Text)
	}
}

func (w storyWriter) differences(all []rules.Difference) {
	for _, d := range all {
		w.line("Differs:   %s", d.What)
		for _, g := range d.Groups {
			w.line("      %s: %s (%s)", orDash(g.Value), count(g.Ranks, "rank"), shorten(g.Who))
		}
	}
}

// causes writes the first one in full. Of the others, unless wide, only what would tell them from it.
func (w storyWriter) causes(all []rules.Cause) {
	for i, c := range all {
		fmt.Fprintln(w.out)
		if i > 0 && !w.wide {
			w.line("Or (%s): %s [%s]", c.Confidence, c.Summary, c.ID)
			w.evidence(others(c.Evidence, all[0].Evidence))
			w.advice("To be sure", c.Experiment)
			continue
		}
		switch {
		case c.ID == rules.UnknownCause:
			w.line("No cause: %s [%s]", c.Summary, c.ID)
		case i > 0:
			w.line("Or (%s): %s [%s]", c.Confidence, c.Summary, c.ID)
		default:
			w.line("First cause (%s): %s [%s]", c.Confidence, c.Summary, c.ID)
		}
		if !c.Network && c.ID != rules.UnknownCause {
			w.line("      The network is not at fault.")
		}
		w.evidence(c.Evidence)
		w.advice("Fix", c.Fix)
		w.advice("To be sure", c.Experiment)
	}
}

// others are the lines that were not shown already.
func others(all, shown []rules.Evidence) []rules.Evidence {
	return slices.DeleteFunc(slices.Clone(all), func(e rules.Evidence) bool { return slices.Contains(shown, e) })
}

// advice may have several lines, the later ones of which are commands.
func (w storyWriter) advice(what, text string) {
	for i, line := range strings.Split(strings.TrimSpace(text), "\n") {
		switch {
		case line == "":
		case i == 0:
			w.line("      %s: %s", what, line)
		default:
			w.line("          %s", line)
		}
	}
}

func (w storyWriter) victims(all []rules.Victim) {
	if len(all) == 0 {
		return
	}
	fmt.Fprintln(w.out)
	w.line("Not causes, but what followed:")
	for i, v := range all {
		if i == mostEvidence && !w.wide {
			w.line("      and %d more", len(all)-i)
			return
		}
		w.line("      %s: %s, after %s (%s:%d)", v.Who, v.What, v.Of, v.Evidence.File, v.Evidence.Line)
	}
}
