package bench

import (
	"maps"
	"slices"
)

// pairs blames the slow links that remain, between pods that are fast with all others.
func (a *attributor) pairs() {
	const trainedDown = 0.45 // a port at half its rate is slow, however few links there are to compare
	short := max(min(a.floor(linkShort), trainedDown), linkSpreads*a.spread)
	limit := float32(1 - min(1, short))
	slow := map[Pair][]int{} // rails
	a.links(func(x, y, rail, at int) {
		if v, ok := a.ratio(at, rail); ok && (v < limit || v == 0) {
			slow[Pair{x, y}] = append(slow[Pair{x, y}], rail)
		}
	})
	for _, p := range slices.SortedFunc(maps.Keys(slow), comparePairs) {
		a.blamePair(p, slow[p])
	}
}

// blamePair blames a pair on the rails on which it is slow, or on all.
func (a *attributor) blamePair(p Pair, rails []int) {
	measured := 0
	ratios := map[int]float32{}
	for rail := range a.m.Rails {
		if v, ok := a.ratio(a.m.at(p.From, p.To, rail), rail); ok {
			measured++
			ratios[rail] = v
		}
	}
	pods := []int{p.From, p.To}
	if len(rails) < 2 || float64(len(rails)) < mostRails*float64(measured) {
		for _, r := range rails {
			a.blame(Culprit{Kind: PairFault, Pods: pods, Rail: r}, r, []float32{ratios[r]})
		}
		return
	}
	var all []float32
	for _, r := range rails {
		all = append(all, ratios[r])
	}
	a.blame(Culprit{Kind: PairFault, Pods: pods, Rail: EveryRail}, rails[0], all)
}
