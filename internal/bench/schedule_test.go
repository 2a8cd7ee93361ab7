package bench

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRounds(t *testing.T) {
	for n, want := range map[int][][]Pair{
		0: nil, 1: nil,
		2: {{{0, 1}}},
		3: {{{1, 2}}, {{2, 0}}, {{0, 1}}},
		4: {{{0, 3}, {2, 1}}, {{3, 1}, {2, 0}}, {{2, 3}, {1, 0}}},
	} {
		got := slices.Collect(Rounds(n))
		for i := range got {
			for j, p := range got[i] {
				if p.From > p.To {
					got[i][j] = Pair{p.To, p.From}
				}
			}
		}
		for i := range want {
			for j, p := range want[i] {
				if p.From > p.To {
					want[i][j] = Pair{p.To, p.From}
				}
			}
			slices.SortFunc(want[i], func(a, b Pair) int { return a.From - b.From })
			slices.SortFunc(got[i], func(a, b Pair) int { return a.From - b.From })
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%d pods: %s", n, d)
		}
	}
}

func TestRoundsMeetOnce(t *testing.T) {
	for _, n := range []int{2, 3, 4, 5, 8, 9, 16, 31, 64, 101} {
		met := map[Pair]int{}
		sends := make([]int, n)
		rounds := 0
		for round := range Rounds(n) {
			rounds++
			busy := map[int]bool{}
			for _, p := range round {
				if busy[p.From] || busy[p.To] || p.From == p.To {
					t.Fatalf("%d pods: a pod is busy twice in %v", n, round)
				}
				busy[p.From], busy[p.To] = true, true
				met[Pair{min(p.From, p.To), max(p.From, p.To)}]++
				sends[p.From]++
			}
			if len(busy) != n-n%2 {
				t.Errorf("%d pods: %d busy", n, len(busy))
			}
		}
		if len(met) != n*(n-1)/2 || rounds != RoundCount(n) {
			t.Errorf("%d pods: %d pairs in %d rounds", n, len(met), rounds)
		}
		if least, most := slices.Min(sends), slices.Max(sends); n > 3 && (most-least)*4 > n+4 {
			t.Errorf("%d pods: one sends %d times, one %d", n, least, most)
		}
	}
	if got := Round(4, 3); got != nil {
		t.Errorf("the fourth of three rounds: %v", got)
	}
}

func TestRails(t *testing.T) {
	round := []Pair{{0, 1}}
	for name, c := range map[string]struct{ got, want [][]Link }{
		"same rail": {[][]Link{SameRail(round, 2)}, [][]Link{{{End{0, 0}, End{1, 0}}, {End{0, 1}, End{1, 1}}}}},
		"across rails": {CrossRails(round, 3), [][]Link{
			{{End{0, 0}, End{1, 1}}, {End{0, 1}, End{1, 2}}, {End{0, 2}, End{1, 0}}},
			{{End{0, 0}, End{1, 2}}, {End{0, 1}, End{1, 0}}, {End{0, 2}, End{1, 1}}},
		}},
		"one rail has none to cross to": {CrossRails(round, 1), nil},
		"loopback": {Loopback(2, 2), [][]Link{
			{{End{0, 0}, End{0, 0}}, {End{1, 0}, End{1, 0}}}, {{End{0, 1}, End{0, 1}}, {End{1, 1}, End{1, 1}}},
		}},
	} {
		if d := cmp.Diff(c.want, c.got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	ports, err := Ports(SameRail([]Pair{{0, 1}, {3, 2}}, 2), 18515)
	if d := cmp.Diff([]int{18515, 18516, 18515, 18516}, ports); d != "" || err != nil {
		t.Error(d, err)
	}
	if got, err := Ports(SameRail(round, 8), 65530); err == nil {
		t.Errorf("too few ports: %v", got)
	}
}

// search runs a quick search over a fabric with bad pods and pairs. It returns the pods that never passed, and the
// number of rounds.
func search(n int, bad map[int]bool, pairs map[Pair]bool) (failed []int, count int) {
	results := map[Pair]bool{}
	passed := make([]bool, n)
	test := func(round []Pair) {
		count++
		for _, p := range round {
			results[p] = !bad[p.From] && !bad[p.To] && !pairs[p] && !pairs[Pair{p.To, p.From}]
			passed[p.From] = passed[p.From] || results[p]
			passed[p.To] = passed[p.To] || results[p]
		}
	}
	for _, r := range Quick(n) {
		test(r)
	}
	for next := Confirm(results); len(next) > 0; next = Confirm(results) {
		test(next)
	}
	for pod, ok := range passed {
		if !ok {
			failed = append(failed, pod)
		}
	}
	return failed, count
}

func TestQuick(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{4, 5, 8, 33, 64, 1024, 4096} {
		for _, k := range []int{0, 1, 2, n / 16, n / 4} {
			bad := map[int]bool{}
			var want []int
			for _, pod := range random.Perm(n)[:k] {
				bad[pod] = true
				want = append(want, pod)
			}
			slices.Sort(want)
			failed, rounds := search(n, bad, nil)
			name := fmt.Sprintf("%d of %d pods are bad", k, n)
			if d := cmp.Diff(want, failed); d != "" {
				t.Errorf("%s: %s", name, d)
			}
			if rounds > QuickLimit(n) {
				t.Errorf("%s: %d rounds, at most %d", name, rounds, QuickLimit(n))
			}
		}
	}
}

func TestConfirm(t *testing.T) {
	cable := Quick(64)[2][5]
	if failed, rounds := search(64, nil, map[Pair]bool{cable: true}); failed != nil || rounds != len(Quick(64)) {
		t.Errorf("a bad cable between good pods: %v never passed in %d rounds", failed, rounds)
	}
	for name, test := range map[string]struct {
		results map[Pair]bool
		want    []Pair
	}{
		"no results":                      {nil, nil},
		"no pod is known to be good":      {map[Pair]bool{{0, 1}: false}, nil},
		"another good pod can be asked":   {map[Pair]bool{{0, 1}: false, {1, 2}: true, {2, 3}: true}, []Pair{{0, 2}}},
		"two good pods saw it fail":       {map[Pair]bool{{0, 1}: false, {0, 2}: false, {1, 2}: true}, nil},
		"the only good pod saw it fail":   {map[Pair]bool{{0, 1}: false, {0, 2}: false, {1, 3}: true}, []Pair{{0, 3}, {2, 1}}},
		"a good pod is asked by one only": {map[Pair]bool{{0, 1}: false, {2, 3}: true}, []Pair{{0, 2}, {1, 3}}},
	} {
		if d := cmp.Diff(test.want, Confirm(test.results)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

func BenchmarkRounds(b *testing.B) {
	const pods = 4096
	for b.Loop() {
		links := 0
		for round := range Rounds(pods) {
			links += len(round)
		}
		if links != pods*(pods-1)/2 {
			b.Fatal(links)
		}
	}
}

func BenchmarkQuick(b *testing.B) {
	for b.Loop() {
		if failed, _ := search(4096, map[int]bool{17: true, 1000: true}, nil); len(failed) != 2 {
			b.Fatal(failed)
		}
	}
}
