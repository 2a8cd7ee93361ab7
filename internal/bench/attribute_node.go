package bench

import (
	"cmp"
	"math"
	"slices"
)

// nic is an end that may be at fault.
type nic struct {
	End
	best float32 // upper quarter of its links: low only if all partners see it slow
}

// wholeNodes blames nodes most of whose NICs are slow, on several rails. It comes before the leaves of single rails,
// because two slow nodes of one rack look like all its leaves.
func (a *attributor) wholeNodes() {
	suspects, judged := a.suspects()
	ends, rails := map[string]int{}, map[string]map[int]bool{}
	for _, s := range suspects {
		node := a.m.node(s.Pod)
		ends[node]++
		if rails[node] == nil {
			rails[node] = map[int]bool{}
		}
		rails[node][s.Rail] = true
	}
	suspects = slices.DeleteFunc(suspects, func(s nic) bool {
		node := a.m.node(s.Pod)
		return len(rails[node]) < 2 || float64(ends[node]) < mostRails*float64(judged[node])
	})
	a.blameSuspects(suspects, judged)
}

// nodes blames NICs whose median link is slow, and nodes most of whose NICs are slow.
func (a *attributor) nodes() {
	a.blameSuspects(a.suspects())
}

// suspects returns the ends whose median link is slow, the clearest first, and for each node the number of ends that
// can be judged.
func (a *attributor) suspects() ([]nic, map[string]int) {
	judged := map[string]int{}
	var suspects []nic
	for rail := range a.m.Rails {
		for pod := range a.m.Pods {
			middle := a.medians[pod*len(a.m.Rails)+rail]
			if middle < 0 || a.railFault[rail] {
				continue
			}
			judged[a.m.node(pod)]++
			// Links that a leaf explains can only lower the median.
			if float64(middle) >= 1-a.floor(groupShort) {
				continue
			}
			if own := a.of(End{pod, rail}); len(own) >= 2 && a.short(own) {
				suspects = append(suspects, nic{End{pod, rail}, own[len(own)*3/4]})
			}
		}
	}
	slices.SortStableFunc(suspects, func(x, y nic) int { return cmp.Compare(x.best, y.best) })
	return suspects, judged
}

// blameSuspects blames suspects that are slow even without the links that clearer ones explain.
func (a *attributor) blameSuspects(suspects []nic, judged map[string]int) {
	links := map[End][]float32{}
	byNode := map[string][]End{}
	var order []string
	for _, s := range suspects {
		own := a.of(s.End)
		if len(own) < 2 || !a.short(own) {
			continue
		}
		a.explain(s.End)
		links[s.End] = own
		node := a.m.node(s.Pod)
		if byNode[node] == nil {
			order = append(order, node)
		}
		byNode[node] = append(byNode[node], s.End)
	}
	slices.Sort(order)
	for _, node := range order {
		a.blameEnds(node, byNode[node], judged[node], links)
	}
}

// blameEnds blames a node, or its single NICs.
func (a *attributor) blameEnds(node string, ends []End, judged int, links map[End][]float32) {
	slices.SortFunc(ends, func(x, y End) int { return cmp.Or(x.Pod-y.Pod, x.Rail-y.Rail) })
	if len(ends) < 2 || float64(len(ends)) < mostRails*float64(judged) {
		for _, e := range ends {
			a.blame(Culprit{Kind: NICFault, Pods: []int{e.Pod}, Rail: e.Rail}, e.Rail, links[e])
		}
		return
	}
	var pods []int
	var ratios []float32
	for _, e := range ends {
		pods = append(pods, e.Pod)
		ratios = append(ratios, links[e]...)
	}
	c := Culprit{Kind: NodeFault, Pods: slices.Compact(pods), Rail: EveryRail, Node: node}
	a.blame(c, ends[0].Rail, ratios)
}

// of returns the sorted ratios of the unexplained links of an end.
func (a *attributor) of(e End) []float32 {
	var into []float32
	for other := range a.m.Pods {
		if other == e.Pod {
			continue
		}
		if v, ok := a.ratio(a.m.at(e.Pod, other, e.Rail), e.Rail); ok {
			into = append(into, v)
		}
	}
	slices.Sort(into)
	return into
}

func (a *attributor) explain(e End) {
	for other := range a.m.Pods {
		if other != e.Pod {
			a.explained[a.m.at(e.Pod, other, e.Rail)] = true
		}
	}
}

// short reports whether the median of sorted ratios is below 1 by more than noise. The standard error of a median of
// n values is 1.2533 standard deviations / sqrt(n).
func (a *attributor) short(ratios []float32) bool {
	const medianError = 1.2533
	noise := groupErrors * medianError * a.spread / math.Sqrt(float64(len(ratios)))
	return float64(ratios[len(ratios)/2]) < 1-max(a.floor(groupShort), noise)
}
