package bench

import (
	"math"
	"slices"
)

// Verdict is what became of a measurement.
type Verdict string

// A change within the noise bound is none.
const (
	Same    Verdict = "same"
	Slower  Verdict = "slower"
	Faster  Verdict = "faster"
	Gone    Verdict = "gone"    // measured before only
	New     Verdict = "new"     // measured now only
	Unknown Verdict = "unknown" // both are there and one has no number above 0
)

// Change is one measurement before and after.
type Change struct {
	Name    string  `json:"name"`
	Old     Summary `json:"old,omitzero"`
	New     Summary `json:"new,omitzero"`
	Ratio   float64 `json:"ratio,omitempty"` // new median to old; 0: not known
	Bound   float64 `json:"bound,omitempty"` // a ratio within 1-Bound and 1+Bound is noise
	Assumed bool    `json:"assumed"`         // the bound is the usual one: fewer than three runs show no spread
	Verdict Verdict `json:"verdict"`
}

// The noise bounds.
const (
	leastBound   = 0.02 // two sets of runs of a machine that nobody changed differ by so much
	assumedBound = 0.10 // where the runs show no spread
	boundErrors  = 3    // standard errors of the difference
	enoughRuns   = 3
)

// Compare holds the series of two files against each other by their names, in the order of the old file; new names follow.
// Higher is better: latencies are given as their inverse.
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
	case c.Ratio < 1-c.Bound:
		c.Verdict = Slower
	case c.Ratio > 1+c.Bound:
		c.Verdict = Faster
	default:
		c.Verdict = Same
	}
	return c
}

// bound is how far the ratio of two medians may be from 1 by noise alone. The standard error of a median of n values is
// 1.2533 standard deviations by the root of n; those of two medians add as squares.
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
