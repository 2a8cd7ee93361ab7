package causes

import (
	"fmt"
	"slices"

	"github.com/railhead/railhead/internal/explain/facts"
	"github.com/railhead/railhead/internal/nccllog/event"
	"github.com/railhead/railhead/internal/story"
	"github.com/railhead/railhead/internal/words"
)

// rasCauses judges the report of NCCL's RAS service, which cannot tell a process that ended from one that it does not
// reach.
func rasCauses(in *input, e event.Event) []candidate {
	names, lines := rasRanks(in.run, e.Kind)
	who := words.Few(names, facts.MostNames)
	lines = append([]event.Event{e}, lines...)
	if e.Kind == event.RanksDiffer {
		text := "NCCL's RAS service found the ranks apart"
		if who != "" {
			text += ": " + who
		}
		return possible(story.HangTimeout, text+"; if it finds the same again, these ranks hang or wait", lines...)
	}
	if who == "" {
		who = "a rank"
	}
	return slices.Concat(
		likely(story.PeerDied, fmt.Sprintf("NCCL's RAS service got no answer from %s", who), lines...),
		possible(story.HangTimeout, "the process may hang instead", e),
		possible(story.PeerUnreachable, "the service uses TCP, and may not reach a process that runs", e),
	)
}

// rasRanks returns the ranks, or else the processes, that RAS names after events of a kind, and their lines.
func rasRanks(run *facts.Run, kind event.Kind) (names []string, lines []event.Event) {
	var ranks, processes []string
	within := false
	for _, e := range run.Log.Events {
		if e.Kind != event.RankNamed {
			within = e.Kind == kind
			continue
		}
		if !within {
			continue
		}
		name := run.Who(e)
		if e.Name != "" && kind == event.RanksDiffer {
			name += " " + e.Name
		}
		lines = append(lines, e)
		if e.Number >= 0 {
			ranks = append(ranks, name)
		} else {
			processes = append(processes, name)
		}
	}
	if len(ranks) == 0 {
		ranks = processes
	}
	slices.Sort(ranks)
	return slices.Compact(ranks), lines
}
