package bench

import (
	"math"
	"slices"
)

// endMedians computes the median of the links of each end, as a part of the healthy rate.
func (a *attributor) endMedians() {
	n, rails, pairs := len(a.m.Pods), len(a.m.Rails), a.m.pairs()
	a.medians = make([]float32, n*rails)
	own := make([]float32, 0, n)
	for rail := range rails {
		values := a.m.Values[rail*pairs : (rail+1)*pairs]
		for pod := range n {
			own = linksOf(values, n, pod, own[:0])
			a.medians[pod*rails+rail] = -1
			if len(own) >= 2 {
				a.medians[pod*rails+rail] = nth(own, len(own)/2) * a.scale[rail]
			}
		}
	}
}

// linksOf appends the measured values of a pod to into. values has one for each pair (0,1), (0,2) ... (1,2) ... of a
// rail.
func linksOf(values []float32, n, pod int, into []float32) []float32 {
	for other, at := 0, pod-1; other < pod; other++ {
		if v := values[at]; v >= 0 {
			into = append(into, v)
		}
		at += n - other - 2
	}
	first := pod * (2*n - pod - 1) / 2
	for _, v := range values[first : first+n-pod-1] {
		if v >= 0 {
			into = append(into, v)
		}
	}
	return into
}

// nth returns the value that sorting would put at k (quickselect: C. A. R. Hoare, Algorithm 65, 1961). It changes the
// order.
func nth(values []float32, k int) float32 {
	low, high := 0, len(values)-1
	for low < high {
		pivot, i, j := values[(low+high)/2], low, high
		for i <= j {
			for values[i] < pivot {
				i++
			}
			for values[j] > pivot {
				j--
			}
			if i <= j {
				values[i], values[j] = values[j], values[i]
				i++
				j--
			}
		}
		switch {
		case k <= j:
			high = j
		case k >= i:
			low = i
		default:
			return values[k]
		}
	}
	return values[k]
}

// residuals estimates the spread of healthy links. It compares links with the median of the slower of their two ends,
// so that a slow node or leaf does not count as noise, however many links it has.
func (a *attributor) residuals() float64 {
	const sample = 1 << 16
	rails := len(a.m.Rails)
	step := len(a.m.Values)/sample | 1
	var away []float64
	a.links(func(x, y, rail, at int) {
		if at%step != 0 && len(a.m.Values) >= sample {
			return
		}
		from, to := a.medians[x*rails+rail], a.medians[y*rails+rail]
		if v := a.m.Values[at] * a.scale[rail]; v > 0 && from > 0 && to > 0 {
			away = append(away, math.Abs(float64(v/min(from, to))-1))
		}
	})
	if len(away) == 0 {
		return spreadOfAll(a)
	}
	slices.Sort(away)
	return madToSigma * middle(away)
}

// spreadOfAll estimates the spread if no end has two links.
func spreadOfAll(a *attributor) float64 {
	var away []float64
	for at, v := range a.m.Values {
		if ratio := v * a.scale[at/a.m.pairs()]; v > 0 && math.Abs(float64(ratio)-1) < 0.2 {
			away = append(away, math.Abs(float64(ratio)-1))
		}
	}
	slices.Sort(away)
	return madToSigma * middle(away)
}
