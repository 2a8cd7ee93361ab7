package bench

import (
	"maps"
	"math/bits"
	"slices"
)

// Quick returns rounds that find bad pods among n without testing every pair. A test covers two pods with all their
// rails, and fails if anything in it is bad. Of all rounds Quick takes about log2(n), numbered by powers of two, so
// that each pod meets partners near and far. A bad pod fails in all of them; a good one fails only with a bad
// partner, and has a different partner each time. Confirm finds the pods to test again. If the limit of rounds
// allows every pair, as with six pods or fewer, all are tested: then even half of the pods may be bad.
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

// QuickLimit returns the most rounds that a quick search of n pods takes, with confirmation, if at most n/4 are bad.
func QuickLimit(n int) int {
	const confirm = 2
	return bits.Len(uint(max(n, 0))) + confirm
}

// Confirm returns the next round of a quick search, by the results of pairs so far, true for those that passed: each
// pod that has never passed and may still be good, with a good one that it has not met. It is empty if nothing is left
// to learn. A pod that passed once is good; one that never passed, although it met good pods, is bad.
func Confirm(results map[Pair]bool) []Pair {
	good, met := map[int]bool{}, map[int]map[int]bool{}
	for p, passed := range results {
		for _, at := range [2]Pair{p, {p.To, p.From}} {
			good[at.From] = good[at.From] || passed
			if met[at.From] == nil {
				met[at.From] = map[int]bool{}
			}
			met[at.From][at.To] = true
		}
	}
	var unknown, free []int
	for _, pod := range slices.Sorted(maps.Keys(good)) {
		switch {
		case good[pod]:
			free = append(free, pod)
		case !isBad(good, met[pod]):
			unknown = append(unknown, pod)
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

// isBad reports whether a pod that never passed is bad, by the pods that it met. One good partner may be at the other
// end of a bad cable: a second one is needed, if there is one.
func isBad(good, met map[int]bool) bool {
	partners, others := 0, 0
	for pod, ok := range good {
		switch {
		case ok && met[pod]:
			partners++
		case ok:
			others++
		}
	}
	return partners >= 2 || partners == 1 && others == 0
}
