package facts

import (
	"github.com/railhead/railhead/internal/nccllog/event"
	"github.com/railhead/railhead/internal/story"
)

// Chosen returns the line in which a rank says which network it uses.
func (run *Run) Chosen(name string) event.Quote {
	for _, r := range run.Log.Ranks {
		if r.Network == name && r.Chosen.Text != "" {
			return r.Chosen
		}
	}
	return event.Quote{}
}

// Listed returns the first list of HCAs.
func (run *Run) Listed() event.Quote {
	for _, r := range run.Log.Ranks {
		if r.Listed.Text != "" {
			return r.Listed
		}
	}
	return event.Quote{}
}

// Topology returns the first line with the number of nodes.
func (run *Run) Topology() event.Quote {
	for _, r := range run.Log.Ranks {
		if r.Topology.Text != "" {
			return r.Topology
		}
	}
	return event.Quote{}
}

// EvidenceOf returns a line as evidence.
func EvidenceOf(q event.Quote) story.Evidence {
	return story.Evidence{File: q.At.File, Line: q.At.Line, Text: q.Text}
}

// Quotes returns the lines that were seen.
func Quotes(list ...event.Quote) []story.Evidence {
	found := []story.Evidence{}
	for _, q := range list {
		if q.Text != "" && len(found) < MostEvidence {
			found = append(found, EvidenceOf(q))
		}
	}
	return found
}

// Bounds of one statement.
const (
	MostEvidence = 5 // lines
	MostNames    = 4 // in a list
)
