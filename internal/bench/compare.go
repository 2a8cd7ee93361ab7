package bench

import (
	"math"
	"slices"
)

// Verdict compares a measurement with an earlier one.
type Verdict string

// The verdicts. A change within the noise is Same.
const (
	Same    Verdict = "same"
	Slower  Verdict = "slower"
	Faster  Verdict = "faster"
	Gone    Verdict = "gone"    // only in the old result
	New     Verdict = "new"     // only in the new result
	Unknown Verdict = "unknown" // one of the two has no number above 0
)

// Change is a measurement before and after.
type Change struct {
	Name    string  `json:"name"`
	Old     Summary `json:"old,omitzero"`
	New     Summary `json:"new,omitzero"`
	Ratio   float64 `json:"ratio,omitempty"` // new median / old median; 0: unknown
	Bound   float64 `json:"bound,omitempty"` // a ratio within 1-Bound and 1+Bound is noise
	Assumed bool    `json:"assumed"`         // the bound is assumed, because fewer than three runs show no spread
	Verdict Verdict `json:"verdict"`
}

// The noise bounds.
const (
	leastBound   = 0.02 // two sets of runs on an unchanged machine differ by this much
	assumedBound = 0.10 // for runs that show no spread
	boundErrors  = 3    // standard errors of the difference
	enoughRuns   = 3
)

// Compare compares the series of two results by name, in the old order; new names follow. Higher is better: latencies
// are given as their inverse.
func Compare(old, now []Series) []Change {
	var changes []Change
	for _, o := range old {
		at := slices.IndexFunc(now, func(s Series) bool { return s.Name == o.Name })
		if at < 0 {
			changes = append(changes, Change{Name: o.Name, Old: Summarise(o.Values), Verdict: Gone})
			continue
		}
		changes = append(changes, change(o.Name, Summarise(o.Values), Summarise(now[at].Values)))
	}
	for _, s := range now {
		if !slices.ContainsFunc(old, func(o Series) bool { return o.Name == s.Name }) {
			changes = append(changes, Change{Name: s.Name, New: Summarise(s.Values), Verdict: New})
		}
	}
	return changes
}

func change(name string, old, now Summary) Change {
	c := Change{Name: name, Old: old, New: now, Verdict: Unknown}
	if old.Runs == 0 || now.Runs == 0 || old.Median <= 0 {
		return c
	}
	c.Ratio = now.Median / old.Median
	c.Bound, c.Assumed = bound(old, now)
	switch {
	case c.Ratio < 1-c.Bound, now.Min <= 0 && old.Min > 0: // a run without data ends training, too
		c.Verdict = Slower
	case c.Ratio > 1+c.Bound:
		c.Verdict = Faster
	default:
		c.Verdict = Same
	}
	return c
}

// bound returns how far noise alone moves the ratio of two medians from 1. The standard error of a median of n values
// is 1.2533 standard deviations / sqrt(n); the errors of two medians add as squares.
func bound(old, now Summary) (value float64, assumed bool) {
	if old.Runs < enoughRuns || now.Runs < enoughRuns {
		return assumedBound, true
	}
	const medianError = 1.2533
	part := func(s Summary) float64 {
		e := medianError * s.Spread / old.Median
		return e * e / float64(s.Runs)
	}
	return max(leastBound, boundErrors*math.Sqrt(part(old)+part(now))), false
}
