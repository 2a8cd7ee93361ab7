package bench

import (
	"cmp"
	"fmt"
	"iter"
)

// End is one rail of one pod, both as indices.
type End struct {
	Pod  int `json:"pod"`
	Rail int `json:"rail"`
}

// Pair is two pods, by index. From runs the client, which sends.
type Pair struct{ From, To int }

func comparePairs(a, b Pair) int { return cmp.Or(a.From-b.From, a.To-b.To) }

// Link connects two ends.
type Link struct{ From, To End }

// Rounds yields the fewest rounds in which each of n pods meets every other, at most one a round: n-1 for an even n,
// n for an odd one, where one pod rests each round. It uses the circle method: pod n-1 is in the middle, the others
// rotate around it (Kirkman 1847; Lucas, Récréations mathématiques II, 1883). The sender alternates, so that pods
// send and receive about equally often. The caller may change the slices.
func Rounds(n int) iter.Seq[[]Pair] {
	return func(yield func([]Pair) bool) {
		for r := range RoundCount(n) {
			if !yield(Round(n, r)) {
				return
			}
		}
	}
}

// RoundCount returns the number of rounds in which n pods meet.
func RoundCount(n int) int {
	switch {
	case n < 2:
		return 0
	case n%2 == 0:
		return n - 1
	}
	return n
}

// Round returns round r of n pods, nil if there is no such round.
func Round(n, r int) []Pair {
	if r < 0 || r >= RoundCount(n) {
		return nil
	}
	circle := n + n%2 - 1 // with an odd n the middle is empty
	pairs := make([]Pair, 0, n/2)
	for k := range (circle + 1) / 2 {
		a, b := (r+k)%circle, (r-k+circle)%circle
		turn := k
		if k == 0 {
			if b, turn = circle, r; b >= n {
				continue
			}
		}
		if turn%2 == 1 {
			a, b = b, a
		}
		pairs = append(pairs, Pair{a, b})
	}
	return pairs
}

// SameRail returns the links of a round that connect rails of the same number, for all rails.
func SameRail(round []Pair, rails int) []Link {
	return shifted(round, rails, 0)
}

// CrossRails returns rails-1 rounds that show whether rails reach each other, between the pods of a round: in the
// k-th, rail i of From meets rail i+k of To, so that every rail is used once.
func CrossRails(round []Pair, rails int) [][]Link {
	var rounds [][]Link
	for k := 1; k < rails; k++ {
		rounds = append(rounds, shifted(round, rails, k))
	}
	return rounds
}

func shifted(round []Pair, rails, by int) []Link {
	links := make([]Link, 0, len(round)*max(rails, 0))
	for _, p := range round {
		for i := range rails {
			links = append(links, Link{End{p.From, i}, End{p.To, (i + by) % rails}})
		}
	}
	return links
}

// Loopback returns rounds in which every HCA sends to itself: one of each pod at a time, because the HCAs of a pod
// share its memory and its PCIe switches.
func Loopback(pods, rails int) [][]Link {
	rounds := make([][]Link, max(rails, 0))
	for r := range rounds {
		for p := range pods {
			rounds[r] = append(rounds[r], Link{End{p, r}, End{p, r}})
		}
	}
	return rounds
}

// Ports returns a TCP port for the server of each link of a round, from first on. The servers in one pod get
// different ports.
func Ports(links []Link, first int) ([]int, error) {
	const last = 65535
	used := map[int]int{}
	ports := make([]int, len(links))
	for i, l := range links {
		ports[i] = first + used[l.To.Pod]
		used[l.To.Pod]++
		if ports[i] > last || first < 1 {
			return nil, fmt.Errorf("ports from %d on: none is left for link %d of pod %d", first,
				used[l.To.Pod], l.To.Pod)
		}
	}
	return ports, nil
}
