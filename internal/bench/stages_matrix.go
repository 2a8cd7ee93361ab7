package bench

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// Survey measures the links between all pods.
type Survey struct {
	fleet  Fleet
	matrix *Matrix
	passed map[Pair]bool // of a quick search
	failed map[Link]string
	values map[Link][]float64 // of all runs
}

// NewSurvey returns a survey without measurements.
func (f Fleet) NewSurvey() *Survey {
	var pods []MatrixPod
	for _, p := range f.Pods {
		pods = append(pods, MatrixPod{Name: p.Name, Node: p.Node})
	}
	var rails []MatrixRail
	for r := range f.Rails() {
		rails = append(rails, MatrixRail{Name: f.Pods[0].Rails[r].Name, Ceiling: f.typical(r)})
	}
	m := NewMatrix(pods, rails)
	m.Leaves = f.leaves()
	return &Survey{f, m, map[Pair]bool{}, map[Link]string{}, map[Link][]float64{}}
}

// typical returns the median ceiling of a rail, or 0 if the ceiling of one pod is unknown. With the minimum, one port
// that trained down would not be slow, but the other rails would be.
func (f Fleet) typical(rail int) Gbps {
	var all []Gbps
	for _, p := range f.Pods {
		all = append(all, p.Rails[rail].CeilingOfAll().Rate)
	}
	slices.Sort(all)
	if all[0] <= 0 {
		return 0
	}
	return all[len(all)/2]
}

// Round returns the stages of a round of pairs, with all rails at once, in one direction and then in the other: many
// faults affect one direction only.
func (s *Survey) Round(name string, pairs []Pair) []Stage {
	back := make([]Pair, len(pairs))
	for i, p := range pairs {
		back[i] = Pair{p.To, p.From}
	}
	return []Stage{s.oneWay(name, pairs), s.oneWay(name+", the other way", back)}
}

func (s *Survey) oneWay(name string, pairs []Pair) Stage {
	return s.fleet.stage(name, Write, SameRail(pairs, s.fleet.Rails()))
}

// Take records the readings of a stage; a link without data has 0. A pair passes a quick search if all its rails pass
// the gate in both directions.
func (s *Survey) Take(stage Stage, readings []Reading, g Gate) {
	for i, l := range stage.Links {
		r := readings[i]
		s.matrix.Set(l.From.Pod, l.To.Pod, l.From.Rail, r.Rate)
		s.values[l] = append(s.values[l], float64(r.Rate))
		if r.Failed != "" {
			s.failed[l] = r.Failed
		}
		pair := Pair{min(l.From.Pod, l.To.Pod), max(l.From.Pod, l.To.Pod)}
		short, _ := g.Short(r.Rate, s.fleet.CeilingOfAll(l).Rate, 1)
		passed, seen := s.passed[pair]
		s.passed[pair] = (passed || !seen) && !short && r.Failed == ""
	}
}

// Confirm returns the next round of a quick search.
func (s *Survey) Confirm() []Pair { return Confirm(s.passed) }

// Matrix returns the measurements.
func (s *Survey) Matrix() *Matrix { return s.matrix }

// Failures returns why links carried no data, for the first few of them.
func (s *Survey) Failures() []string {
	const most = 20
	links := slices.SortedFunc(maps.Keys(s.failed), compareLinks)
	var all []string
	for _, l := range links[:min(len(links), most)] {
		all = append(all, fmt.Sprintf("%s: %s", s.fleet.Describe(l), s.failed[l]))
	}
	return all
}

// mostSeries bounds the links that have a series each.
const mostSeries = 4096

// Series returns the numbers of all runs of each link, or if there are too many links, the median of each rail.
func (s *Survey) Series() []Series {
	links := slices.SortedFunc(maps.Keys(s.values), compareLinks)
	if len(links) <= mostSeries {
		var all []Series
		for _, l := range links {
			all = append(all, Series{"matrix: " + s.fleet.places(l) + ", Gb/s", s.values[l]})
		}
		return all
	}
	medians := make([]Series, s.fleet.Rails())
	for r := range medians {
		medians[r].Name = "matrix: median of rail " + s.matrix.Rails[r].Name + ", Gb/s"
		var all []float64
		for _, l := range links {
			if l.From.Rail == r {
				all = append(all, s.values[l]...)
			}
		}
		medians[r].Values = []float64{Summarise(all).Median}
	}
	return medians
}

func compareLinks(a, b Link) int {
	return cmp.Or(a.From.Rail-b.From.Rail, a.From.Pod-b.From.Pod, a.To.Pod-b.To.Pod, a.To.Rail-b.To.Rail)
}

// Describe names the pods and the rails of a link.
func (f Fleet) Describe(l Link) string {
	return fmt.Sprintf("%s > %s, %s", f.Pods[l.From.Pod].Name, f.Pods[l.To.Pod].Name, f.rails(l))
}

func (f Fleet) places(l Link) string {
	return fmt.Sprintf("%s > %s, %s", f.Pods[l.From.Pod].Place(), f.Pods[l.To.Pod].Place(), f.rails(l))
}

func (f Fleet) rails(l Link) string {
	from, to := f.at(l.From).Name, f.at(l.To).Name
	if from == to {
		return "rail " + from
	}
	return "rail " + from + " to " + to
}

// Crossings returns stages that show whether rails reach each other, between the pods of one round.
func (f Fleet) Crossings(pairs []Pair) []Stage {
	var stages []Stage
	for i, links := range CrossRails(pairs, f.Rails()) {
		stages = append(stages, f.stage(fmt.Sprintf("rails across, round %d", i+1), Reach, links))
	}
	return stages
}

// Loopbacks returns stages in which every HCA sends to itself.
func (f Fleet) Loopbacks() []Stage {
	var stages []Stage
	for r, links := range Loopback(len(f.Pods), f.Rails()) {
		stages = append(stages, f.stage("loopback, rail "+f.Pods[0].Rails[r].Name, Write, links))
	}
	return stages
}

// stage returns a stage, skipped if a pod lacks a tool for it.
func (f Fleet) stage(name string, m Measure, links []Link) Stage {
	s := Stage{Name: name, Measure: m, Links: links}
	for _, l := range links {
		if s.Skipped = f.Missing(m, l.From.Pod, l.To.Pod); s.Skipped != "" {
			break
		}
	}
	return s
}

// Crossed returns the results of a stage of Crossings.
func Crossed(stage Stage, readings []Reading) []Crossing {
	var all []Crossing
	for i, l := range stage.Links {
		all = append(all, Crossing{From: l.From, To: l.To, Reached: readings[i].Failed == "", Why: readings[i].Failed})
	}
	return all
}

// Looped returns the results of a stage of Loopbacks.
func Looped(stage Stage, readings []Reading) []OwnLoop {
	var all []OwnLoop
	for i, l := range stage.Links {
		all = append(all, OwnLoop{At: l.From, Measured: readings[i].Rate, Failed: readings[i].Failed})
	}
	return all
}
