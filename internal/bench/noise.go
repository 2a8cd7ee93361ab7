package bench

import (
	"math"
	"slices"
)

// madToSigma turns a median absolute deviation into an estimate of the standard deviation: 1/0.6745 for a normal
// distribution.
const madToSigma = 1.4826

// middle returns the median of sorted values, the upper one of an even number, 0 of none.
func middle(sorted []float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[len(sorted)/2]
}

// Series holds several runs of one measurement. Higher is better.
type Series struct {
	Name   string    `json:"name"`
	Values []float64 `json:"values"`
}

// Summary describes several runs.
type Summary struct {
	Runs   int     `json:"runs"`
	Median float64 `json:"median"`
	Spread float64 `json:"spread"` // estimate of the standard deviation, from the median absolute deviation
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

// Summarise computes the median and the spread, which one bad run in three hardly changes. NaN and infinities are
// left out.
func Summarise(values []float64) Summary {
	sorted := slices.DeleteFunc(slices.Clone(values), func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) })
	if len(sorted) == 0 {
		return Summary{}
	}
	slices.Sort(sorted)
	s := Summary{Runs: len(sorted), Median: median(sorted), Min: sorted[0], Max: sorted[len(sorted)-1]}
	away := make([]float64, len(sorted))
	for i, v := range sorted {
		away[i] = math.Abs(v - s.Median)
	}
	slices.Sort(away)
	s.Spread = madToSigma * median(away)
	return s
}

func median(sorted []float64) float64 {
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
