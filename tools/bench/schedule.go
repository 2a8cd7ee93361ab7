package main

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/railhead/railhead/internal/bench"
)

// scheduleMode is the argument with which bench starts itself to schedule and judge one matrix.
const scheduleMode = "schedule-of"

// scheduleRuns are few: each is a process of seconds.
const scheduleRuns = 5

// schedule prints the cost of the schedule of all pairs and of the attribution, on a fabric with three faults.
func (p programs) schedule(stdout io.Writer) error {
	fmt.Fprintf(stdout, "\nrailhead bench --matrix, schedule and attribution, median of %d\n  %-32s %8s %8s %8s\n",
		scheduleRuns, "pods x rails", "s", "CPU s", "MB")
	for _, size := range [][2]int{{64, 8}, {1024, 8}, {4096, 1}} {
		c, err := p.medianCost(scheduleRuns, p.self, scheduleMode, fmt.Sprint(size[0]), fmt.Sprint(size[1]))
		if err != nil {
			return fmt.Errorf("schedule of %d pods: %w", size[0], err)
		}
		name := fmt.Sprintf("%d x %d", size[0], size[1])
		fmt.Fprintf(stdout, "  %-32s %8.2f %8.2f %8d\n", name, c.wall.Seconds(), c.cpu.Seconds(), c.peak/1e6)
	}
	return nil
}

// scheduleMain fills a matrix round by round and judges it: a wrong answer needs no measuring.
func scheduleMain(pods, rails int, stderr io.Writer) int {
	m := planted(pods, rails)
	got := m.Attribute(0.9)
	kinds := make([]bench.Kind, 0, len(got.Culprits))
	for _, c := range got.Culprits {
		kinds = append(kinds, c.Kind)
	}
	if want := []bench.Kind{bench.NodeFault, bench.NICFault, bench.PairFault}; rails > 1 && !slices.Equal(kinds, want) {
		fmt.Fprintf(stderr, "blamed %v, want %v\n", kinds, want)
		return 1
	}
	return 0
}

// planted returns a fabric of 400 Gb/s with a node of MTU 1500, a slow NIC and a bad cable, measured in the order of
// the schedule.
func planted(pods, rails int) *bench.Matrix {
	random := rand.New(rand.NewPCG(1, 7))
	const ceiling, healthy, noise = 392.1, 0.985, 0.01
	all := make([]bench.MatrixRail, rails)
	for r := range all {
		all[r] = bench.MatrixRail{Name: fmt.Sprintf("net%d", r+1), Ceiling: ceiling}
	}
	names := make([]bench.MatrixPod, pods)
	for i := range names {
		names[i] = bench.MatrixPod{Name: fmt.Sprintf("pod-%d", i), Node: fmt.Sprintf("gpu-%d", i)}
	}
	m := bench.NewMatrix(names, all)
	is := func(p bench.Pair, pod int) bool { return p.From == pod || p.To == pod }
	for round := range bench.Rounds(pods) {
		for _, p := range round {
			for r := range rails {
				rate := ceiling * healthy * (1 - math.Abs(random.NormFloat64())*noise)
				if is(p, 5) {
					rate *= 370.3 / ceiling
				}
				if is(p, pods-3) && r == rails-1 || is(p, 9) && is(p, 20) && r == 0 {
					rate *= 0.5
				}
				m.Set(p.From, p.To, r, bench.Gbps(rate))
			}
		}
	}
	return m
}
