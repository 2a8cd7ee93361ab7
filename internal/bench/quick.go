package bench

import (
	"cmp"
	"maps"
	"math/bits"
	"slices"
)

// Quick are rounds that find bad pods among n without every pair: each test is of a group, two pods with all their rails,
// and fails if anything in it is bad. Of the rounds in which all would meet it takes about log2(n), whose numbers are
// powers of two, so that a pod meets partners near and far. A pod that is bad fails in all of them; one that is well fails
// only with a bad partner, and has a different one every time. Ask Suspects afterwards. So few pods that all meet in no more
// rounds than a search may take do all meet: half of a handful may be bad.
func Quick(n int) [][]Pair {
	count := RoundCount(n)
	if count <= QuickLimit(n) {
		return slices.Collect(Rounds(n))
	}
	var rounds [][]Pair
	for r := 1; r <= count; r *= 2 {
		rounds = append(rounds, Round(n, r-1))
	}
	return rounds
}

// QuickLimit is the most rounds that a quick search of n pods takes, confirmation included, while at most n/4 are bad.
func QuickLimit(n int) int {
	const confirm = 2
	return bits.Len(uint(max(n, 0))) + confirm
}

// Suspicion is what tests of groups say so far.
type Suspicion struct {
	Bad     []int  // pods that failed with a partner that is well, and with nobody they came through
	Pairs   []Pair // fail although both pods are well: what is between them is bad
	Unknown []int  // pods that failed in every test, with none but other suspects
	Confirm []Pair // the next round: each unknown pod with one that is well; empty when nothing is left to learn
}

// Suspects judges the results of the pairs that were tested: true came through. A pod that came through once is well; one
// that never did, although it met a pod that is well, is bad. With the results of Confirm added, ask again.
func Suspects(results map[Pair]bool) Suspicion {
	well, met := map[int]bool{}, map[int]map[int]bool{}
	for p, passed := range results {
		for _, at := range [2]Pair{p, {p.To, p.From}} {
			well[at.From] = well[at.From] || passed
			if met[at.From] == nil {
				met[at.From] = map[int]bool{}
			}
			met[at.From][at.To] = true
		}
	}
	var s Suspicion
	for _, pod := range slices.Sorted(maps.Keys(well)) {
		if well[pod] {
			continue
		}
		partners := 0
		for other := range met[pod] {
			if well[other] {
				partners++
			}
		}
		// One partner may be at the other end of a bad cable: two that are well settle it.
		if partners >= 2 || partners == 1 && !anotherWell(well, met[pod]) {
			s.Bad = append(s.Bad, pod)
		} else {
			s.Unknown = append(s.Unknown, pod)
		}
	}
	for p, passed := range results {
		if !passed && well[p.From] && well[p.To] {
			s.Pairs = append(s.Pairs, p)
		}
	}
	slices.SortFunc(s.Pairs, func(a, b Pair) int { return cmp.Or(a.From-b.From, a.To-b.To) })
	s.Confirm = confirm(s.Unknown, well, met)
	return s
}

// anotherWell reports whether a pod is well that was not met yet.
func anotherWell(well map[int]bool, met map[int]bool) bool {
	for pod, ok := range well {
		if ok && !met[pod] {
			return true
		}
	}
	return false
}

// confirm pairs each unknown pod with one that is well and that it has not met, each once.
func confirm(unknown []int, well map[int]bool, met map[int]map[int]bool) []Pair {
	var free []int
	for _, pod := range slices.Sorted(maps.Keys(well)) {
		if well[pod] {
			free = append(free, pod)
		}
	}
	var round []Pair
	for _, pod := range unknown {
		at := slices.IndexFunc(free, func(other int) bool { return !met[pod][other] })
		if at < 0 {
			continue
		}
		round = append(round, Pair{pod, free[at]})
		free = slices.Delete(free, at, at+1)
	}
	return round
}
