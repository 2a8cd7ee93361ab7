package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/words"
)

// Measured is doctor's measurement between the pods that it examined.
type Measured struct {
	Pods    int      `json:"pods"`  // that have a link that was measured
	Links   int      `json:"links"` // between them, one for each rail
	Seconds float64  `json:"seconds,omitempty"`
	Skipped []string `json:"skipped,omitempty"` // parts that were not measured, with the reason
}

// measure adds measurements to the problems: a slow part of the fabric to the problem that explains it, or,
// without one, before all problems. It runs before problems are folded, so that a cause takes along what follows from
// it.
func (g *gathered) measure(machines []Machine, b benched) *Measured {
	reached := b.reached()
	m := &Measured{Pods: len(reached), Seconds: b.Seconds, Skipped: b.Skipped}
	if b.Attribution != nil {
		m.Links = b.Attribution.Links
	}
	x := newMeasurementExplainer(g.occurrences, b, machines)
	var unexplained []Problem
	parts := b.slowParts()
	slices.SortStableFunc(parts, func(x, y slowPart) int { return x.place() - y.place() })
	for _, part := range parts {
		b.name(part.finding.Fix)
		if cause := x.cause(part.Culprit); cause >= 0 {
			g.problems[cause].measured(part.finding)
		} else {
			unexplained = append(unexplained, Problem{Finding: part.finding})
		}
	}
	if m.Links > 0 && len(parts) == 0 {
		g.passed[BenchFabric]++
	}
	g.addUnmeasured(x, unmeasured(machines, reached), m)
	g.problems = append(unexplained, g.problems...)
	return m
}

// addUnmeasured adds the pods that were not measured.
func (g *gathered) addUnmeasured(x *measurementExplainer, left []check.Ref, m *Measured) {
	if len(left) == 0 && m.Pods > 0 {
		g.passed[BenchMeasured]++
		for _, why := range m.Skipped { // parts of pods that were measured
			g.skipped[Tally{Check: BenchFabric, Why: why}]++
		}
		return
	}
	f := x.notMeasured(left, m.Pods+len(left))
	if cause := x.whyNoRail(left); cause >= 0 {
		p := &g.problems[cause]
		p.Consequences = append(p.Consequences, Consequence{Check: f.Check, Text: f.Summary})
		return
	}
	g.problems = append(g.problems, Problem{Finding: f})
}

// place puts what stands out before the whole: it says where to look.
func (p slowPart) place() int {
	if p.Kind == bench.FabricFault {
		return 1
	}
	return 0
}

// measured adds a measurement that the problem explains. The problem is then as grave as what it costs.
func (p *Problem) measured(f check.Finding) {
	p.Status = max(p.Status, f.Status)
	p.Consequences = append(p.Consequences, Consequence{Check: f.Check, Text: "measured: " + line(f)})
}

// reached returns the pods with a link that was measured.
func (b benched) reached() map[check.Ref]bool {
	all := map[check.Ref]bool{}
	if b.Matrix == nil || !b.Matrix.Whole() {
		return all
	}
	for l := range b.Matrix.Links() {
		all[b.podRef(l.A)], all[b.podRef(l.B)] = true, true
	}
	return all
}

func (b benched) podRef(pod int) check.Ref { return check.PodRef(b.Namespace, b.Matrix.Pods[pod].Name) }

// unmeasured returns the pods that were looked at and have no link that was measured.
func unmeasured(machines []Machine, reached map[check.Ref]bool) []check.Ref {
	var pods []check.Ref
	for _, m := range machines {
		if !m.IsNode() && m.Unreached == "" && !reached[m.Ref] { // Fleet says which were not reached
			pods = append(pods, m.Ref)
		}
	}
	return pods
}

// notMeasured says why pods were not measured. Unknown is never healthy.
func (b benched) notMeasured(pods []check.Ref, of int) check.Finding {
	why := "nothing came of it"
	if len(b.Skipped) > 0 {
		why = strings.Join(b.Skipped, "; ")
	}
	f := check.Finding{
		Check: BenchMeasured, Status: check.Unknown, Subject: check.Ref{Kind: check.Pods}, About: pods,
		Summary: fmt.Sprintf("%d of %s could not be measured: %s", len(pods), words.Count(of, "pod"), why),
		Fix: &check.Fix{
			Text: "Measure while nothing trains there, two pods or more, in an image that has perftest; or beside the job, between pods of railhead's own.", Who: check.User,
			Commands: []string{"podman build -t IMAGE build/bench", "railhead bench --nodes NODE,NODE --image IMAGE --matrix --quick"},
		},
	}
	if len(pods) > 0 {
		f.Evidence = []check.Evidence{{Source: "the matrix", Got: "nothing of " + places(pods), Want: "a link of every pod to another"}}
	}
	return f
}
