package text

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/story"
	"github.com/railhead/railhead/internal/words"
)

// Story writes the story of a log: each run with its network, outcome and causes. With wide it writes all evidence.
func Story(out io.Writer, s story.Story, wide bool) error {
	w := &writer{out: out, wide: wide}
	w.story(s)
	return w.err
}

func (w *writer) story(s story.Story) {
	for i, run := range s.Runs {
		if i > 0 {
			w.line("")
		}
		if len(s.Runs) > 1 {
			w.line("Run %d of %d", i+1, len(s.Runs))
		}
		w.run(run)
	}
	if len(s.Runs) == 0 {
		w.line("No log was read.")
	}
}

func (w *writer) run(r story.Run) {
	unknown := unknownLines(r)
	if len(unknown) > 0 {
		w.line("Unknown:   %s:%d  %s", unknown[0].File, unknown[0].Line, unknown[0].Text)
		w.evidence(unknown[1:])
	}
	w.line("Ran:       %s", ranLine(r))
	w.line("Network:   %s", networkLine(r.Network))
	w.evidence(r.Network.Evidence)
	w.line("GPUDirect: %s", gpuDirectLine(r))
	w.line("Outcome:   %s", outcomeLine(r))
	if r.Outcome == story.OutcomeOK {
		if r.Finished != nil {
			w.evidence([]story.Evidence{*r.Finished})
		}
		w.evidence(r.Survived)
	}
	if len(r.Variables) > 0 {
		w.line("Next time: set %s to see more", strings.Join(r.Variables, " "))
	}
	w.differences(r.Differences)
	w.causes(r)
	w.victims(r.Victims)
}

// unknownLines returns the lines that leave the outcome unknown. They come first: the reader may know them.
func unknownLines(r story.Run) []story.Evidence {
	if r.Outcome != story.OutcomeUnknown || len(r.Causes) == 0 || r.Causes[0].ID != story.UnknownCause {
		return nil
	}
	return r.Causes[0].Evidence
}

func ranLine(r story.Run) string {
	version, known := "NCCL "+r.NCCLVersion, r.NCCLVersion != "unknown" && r.NCCLVersion != ""
	switch {
	case !known && r.Ranks == 0:
		return "unknown: no line shows NCCL's version or the number of ranks"
	case !known:
		version = "NCCL, version unknown"
	}
	var where []string
	if r.Ranks > 0 {
		where = append(where, words.Count(r.Ranks, "rank"))
	}
	if r.Nodes > 0 {
		where = append(where, words.Count(r.Nodes, "node"))
	}
	return version + ", " + cmp.Or(strings.Join(where, " on "), "number of ranks unknown")
}

func networkLine(n story.Network) string {
	name := string(n.Kind)
	if n.LinkLayer == "unknown" {
		name = "RDMA"
	}
	if n.Name != "" && n.Name != name {
		name = fmt.Sprintf("%s (%s)", n.Name, name)
	}
	switch {
	case n.Transport == story.NoTransport && n.Kind == story.UnknownNetwork:
		return n.Why
	case n.Transport == story.NoTransport:
	case n.Used == nil && name != string(story.UnknownNetwork):
		name += ", not known whether it was used"
	case n.Used != nil && *n.Used:
		name += ", used"
	case n.Used != nil:
		name += ", not used"
	}
	return joined(name, n.Why)
}

// gpuDirectLine says nothing of NICs that no channel needed.
func gpuDirectLine(r story.Run) string {
	if r.Network.Transport == story.NoTransport {
		return "not needed on one node"
	}
	return joined(string(r.GPUDirect), r.GPUReason)
}

// outcomeLine leaves the summary to the causes if there are any.
func outcomeLine(r story.Run) string {
	switch {
	case len(r.Causes) > 0:
		return string(r.Outcome)
	case r.Outcome == story.OutcomeOK:
		return "ok: " + health(r)
	}
	return joined(string(r.Outcome), r.Summary)
}

// health says how far the lines of a run without a failure tell that it went well.
func health(r story.Run) string {
	text := "no line reports a fault"
	if len(r.Survived) > 0 {
		text = "the run went on after each fault that a line reports"
	}
	switch {
	case r.Finished != nil && len(r.Survived) > 0:
		return "the program reported success, in spite of the faults that lines report"
	case r.Finished != nil:
		return "the program reported success"
	case r.Ended:
		return text
	}
	text += ", and no line shows its end"
	if r.Network.Transport == story.NoTransport {
		return text
	}
	return text + "; if it hangs, 'railhead wire' shows whether data moves" // it writes nothing until a timeout
}

func joined(fact, reason string) string {
	if reason == "" {
		return fact
	}
	return fact + ": " + reason
}

func (w *writer) evidence(all []story.Evidence) {
	for i, e := range all {
		if i == maxEvidence && !w.wide {
			w.line("      and %s", words.Count(len(all)-i, "more line"))
			return
		}
		w.line("      %s:%d  %s", e.File, e.Line, e.Text)
	}
}

func (w *writer) differences(all []story.Difference) {
	for _, d := range all {
		w.line("Differs:   %s", d.What)
		for _, g := range d.Groups {
			w.line("      %s: %s (%s)", cmp.Or(g.Value, "-"), words.Count(g.Ranks, "rank"), words.Few(g.Who, 6))
		}
	}
}

// causes writes the first cause in full. Unless wide, it writes only how to tell the others from it.
func (w *writer) causes(r story.Run) {
	for i, c := range r.Causes {
		heading := fmt.Sprintf("First cause (%s)", c.Confidence)
		switch {
		case i > 0:
			heading = fmt.Sprintf("Or (%s)", c.Confidence)
		case c.ID == story.UnknownCause && !c.Stated:
			heading = "No cause"
		}
		w.line("")
		w.line("%s: %s [%s]", heading, c.Summary, c.ID)
		if i > 0 && !w.wide {
			w.evidence(others(c.Evidence, r.Causes[0].Evidence))
			w.advice("To be sure", c.Experiment)
			continue
		}
		if i == 0 && r.ExcludesNetwork() {
			w.line("      The network is not at fault.")
		}
		w.evidence(others(c.Evidence, unknownLines(r)))
		w.advice("Fix", c.Fix)
		w.advice("To be sure", c.Experiment)
	}
}

// others returns the lines that were not shown yet.
func others(all, shown []story.Evidence) []story.Evidence {
	return slices.DeleteFunc(slices.Clone(all), func(e story.Evidence) bool { return slices.Contains(shown, e) })
}

// advice writes a text whose later lines are commands.
func (w *writer) advice(what, text string) {
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

func (w *writer) victims(all []story.Victim) {
	if len(all) == 0 {
		return
	}
	w.line("")
	w.line("Consequences, not causes:")
	for i, v := range all {
		if i == maxEvidence && !w.wide {
			w.line("      and %d more", len(all)-i)
			return
		}
		w.line("      %s: %s, after %s (%s:%d)", v.Who, v.What, v.Of, v.Evidence.File, v.Evidence.Line)
	}
}

// Warnings returns the parts of a story that cannot wait for the end of the job.
func Warnings(s story.Story) []string {
	var all []string
	for i, r := range s.Runs {
		run := ""
		if i > 0 {
			run = fmt.Sprintf("run %d: ", i+1)
		}
		if text := networkWarning(r); text != "" {
			all = append(all, run+text)
		}
		if len(r.Causes) > 0 {
			all = append(all, fmt.Sprintf("%sfirst cause: %s [%s]", run, r.Causes[0].Summary, r.Causes[0].ID))
		}
	}
	return all
}

func networkWarning(r story.Run) string {
	for _, d := range r.Differences {
		for _, g := range d.Groups {
			if d.What == "network" && g.Value == string(story.Socket) {
				return fmt.Sprintf("WARNING: %s started on TCP, the others did not: all will be many times slower",
					words.Count(g.Ranks, "rank"))
			}
		}
	}
	switch used := r.Network.Used; {
	case r.Network.Kind == story.Socket && r.Nodes != 1:
		return "WARNING: the job started on TCP instead of RDMA: it will be many times slower"
	case used != nil && *used:
		return "Network: " + networkLine(r.Network)
	}
	return ""
}
