package launch

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/railhead/railhead/internal/words"
)

// Summary is a detached run in all pods of a job.
type Summary struct {
	Started time.Time   `json:"started"`
	Command string      `json:"command"`
	Running int         `json:"running"`         // pods
	Ended   map[int]int `json:"ended,omitempty"` // exit codes by rank
	Lost    []int       `json:"lost,omitempty"`  // ranks that ended without a code, or whose pods were replaced
}

// Summarize returns the newest detached run in the pods; nil if there is none.
func Summarize(runs []Run, targets []Target) *Summary {
	parts := Newest(runs)
	if len(parts) == 0 {
		return nil
	}
	s := &Summary{Started: parts[0].Started, Command: parts[0].CommandLine(), Ended: map[int]int{}}
	alive := map[int]bool{}
	for _, r := range parts {
		switch {
		case r.Code != nil:
			s.Ended[r.Rank] = *r.Code
		case r.Running:
			s.Running++
			alive[r.Rank] = true
		}
	}
	for _, t := range targets {
		if _, ended := s.Ended[t.Rank]; !ended && !alive[t.Rank] {
			s.Lost = append(s.Lost, t.Rank)
		}
	}
	return s
}

// String returns the run in one line.
func (s Summary) String() string {
	text := fmt.Sprintf("Detached run, started at %s: %s: ", s.Started.Format(time.RFC3339), s.Command)
	switch {
	case s.Running > 0:
		text += "running in " + words.Count(s.Running, "pod")
	default:
		text += "ended"
	}
	codes := map[int]int{}
	for _, code := range s.Ended {
		codes[code]++
	}
	for _, code := range slices.Sorted(maps.Keys(codes)) {
		text += fmt.Sprintf(", exit code %d in %s", code, words.Count(codes[code], "pod"))
	}
	if len(s.Lost) > 0 {
		text += fmt.Sprintf(", no exit code in %s (rank %d first)", words.Count(len(s.Lost), "pod"), s.Lost[0])
	}
	return text
}
