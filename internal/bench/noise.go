package bench

import (
	"math"
	"slices"
)

// madToSigma makes the median absolute deviation an estimate of the standard deviation: 1/0.6745 of a normal
// distribution.
const madToSigma = 1.4826

// middle is the median of sorted values; of an even number the upper one. 0 of none.
func middle(sorted []float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[len(sorted)/2]
}

// Series is several runs of one measurement, in one unit. Higher is better.
type Series struct {
	Name   string    `json:"name"`
	Values []float64 `json:"values"`
}

// Summary is what several runs say.
type Summary struct {
	Runs   int     `json:"runs"`
	Median float64 `json:"median"`
	Spread float64 `json:"spread"` // estimate of the standard deviation, from the median absolute deviation
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

// Summarise takes the median and the spread, which one run in three that went wrong does not move. Values that are no
// numbers are left out.
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

// median is that of sorted values; of an even number between the two.
func median(sorted []float64) float64 {
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
