package explain

import (
	"fmt"
	"strings"

	"github.com/railhead/railhead/internal/story"
	"github.com/railhead/railhead/internal/words"
)

// summary says in a few sentences how the run went. Late: it failed after the program had reported success.
func summary(r story.Run, late bool) string {
	var parts []string
	if r.Ranks > 0 {
		what := words.Count(r.Ranks, "rank")
		if r.Nodes > 0 {
			what += " on " + words.Count(r.Nodes, "node")
		}
		parts = append(parts, what)
	}
	if r.NCCLVersion != "unknown" {
		parts = append(parts, "NCCL "+r.NCCLVersion)
	}
	text := strings.Join(parts, ", ")
	if text != "" {
		text += ": "
	}
	return text + r.Network.Why + ending(r, late)
}

// ending says how the run ended, behind a full stop.
func ending(r story.Run, late bool) string {
	switch {
	case r.Outcome == story.OutcomeUnknown && len(r.Causes) > 0:
		return ". The outcome is unknown: " + r.Causes[0].Summary
	case late && len(r.Causes) > 0:
		return ". It failed after the program had reported success: " + r.Causes[0].Summary
	case len(r.Causes) > 0:
		return fmt.Sprintf(". %s: %s", outcomeWord(r.Outcome), r.Causes[0].Summary)
	case r.Outcome == story.OutcomeDegraded:
		return ". " + outcomeWord(r.Outcome) + ": " + r.GPUReason
	case r.Outcome == story.OutcomeOK && r.Finished != nil:
		return ". The program reported success"
	case r.Outcome == story.OutcomeOK && len(r.Survived) > 0:
		return ". It went on after each fault that a line reports"
	case r.Outcome == story.OutcomeOK:
		return ". No line reports a fault"
	}
	return ""
}

func outcomeWord(o story.Outcome) string {
	switch o {
	case story.OutcomeFail:
		return "It failed"
	case story.OutcomeFallback:
		return "It fell back to TCP"
	case story.OutcomeDegraded:
		return "It runs worse than it could"
	case story.OutcomeOK, story.OutcomeUnknown:
	}
	return "Of note"
}
