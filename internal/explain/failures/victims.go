package failures

import (
	"slices"

	"github.com/railhead/railhead/internal/explain/facts"
	"github.com/railhead/railhead/internal/nccllog/event"
	"github.com/railhead/railhead/internal/story"
)

// Seen returns the failures of some kinds.
func Seen(s *Sequence, kinds ...event.Kind) []event.Event {
	var found []event.Event
	for _, e := range s.Failures {
		if slices.Contains(kinds, e.Kind) {
			found = append(found, e)
		}
	}
	return found
}

// Victims returns the ranks that failed because another did.
func Victims(s *Sequence, causes []story.Cause) []story.Victim {
	victims := []story.Victim{}
	if len(s.Failures) == 0 {
		return victims
	}
	of := "a failure that the log does not show"
	if s.First != nil {
		of = s.Run.Who(*s.First) + ": " + s.First.String()
	} else if len(causes) > 0 {
		of = string(causes[0].ID)
	}
	seen := map[string]int{}
	for _, e := range s.Failures {
		if !isVictim(s, e) {
			continue
		}
		key := e.String() + "\x00" + s.Run.Who(e)
		if _, ok := seen[key]; ok || len(victims) >= mostVictims {
			continue
		}
		seen[key] = len(victims)
		victims = append(victims, story.Victim{
			Who: s.Run.Who(e), What: e.String(), Of: of, Evidence: facts.EvidenceOf(e.Quote),
		})
	}
	return victims
}

// mostVictims bounds the list: of thousands of ranks all but one are victims.
const mostVictims = 16

// isVictim reports whether a failure follows from the first one: by its class, or because it reports a rank that had
// failed before.
func isVictim(s *Sequence, e event.Event) bool {
	if s.First == nil || e.Seq == s.First.Seq || e.IsOwnException() {
		return false
	}
	switch e.Kind {
	case event.TimeLimit:
		return false
	// of the rank that failed they are its echo
	case event.Result, event.Exception, event.Exit, event.Consequence:
		if e.Rank >= 0 && e.Rank == s.First.Rank || e.Number >= 0 && e.Number == s.First.Number {
			return false
		}
	default:
	}
	if e.Class() == event.Followed {
		return true
	}
	return e.Class() == event.Remote && s.First.Class() != event.Remote
}
