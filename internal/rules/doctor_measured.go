package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/internal/check"
)

// Measured is what doctor measured between the pods that it looked at.
type Measured struct {
	Pods    int      `json:"pods"`  // that have a link that was measured
	Links   int      `json:"links"` // between them, one for each rail
	Seconds float64  `json:"seconds,omitempty"`
	Skipped []string `json:"skipped,omitempty"` // what was not measured, and why
}

// measure puts what was measured among the problems: slow parts of the fabric under what explains them, those that nothing
// explains before all else. It comes before other problems are folded, so that a cause takes along what follows from it.
func (d *diagnosing) measure(c Case) *Measured {
	if c.Bench == nil {
		return nil
	}
	b := benched{*c.Bench}
	m := &Measured{Seconds: b.Seconds, Skipped: b.Skipped}
	reached := b.reached()
	m.Pods = len(reached)
	if b.Attribution != nil {
		m.Links = b.Attribution.Links
	}
	x := newExplaining(d, b, c.Machines)
	var unexplained []Problem
	parts := b.slowParts()
	slices.SortStableFunc(parts, func(x, y slowPart) int { return x.place() - y.place() })
	for _, part := range parts {
		b.name(part.finding.Fix)
		if cause := x.cause(part.Culprit); cause >= 0 {
			d.confirm(cause, part.finding)
		} else {
			unexplained = append(unexplained, Problem{Finding: part.finding})
		}
	}
	if m.Links > 0 && len(parts) == 0 {
		d.passed[BenchFabric]++
	}
	switch left := unmeasured(c.Machines, reached); {
	case len(left) == 0 && m.Pods > 0:
		d.passed[BenchMeasured]++
		for _, why := range b.Skipped { // parts of pods that were measured
			d.skipped[Tally{Check: BenchFabric, Why: why}]++
		}
	default:
		f := b.notMeasured(left, m.Pods+len(left))
		if cause := x.hides(left); cause >= 0 {
			d.problems[cause].Consequences = append(d.problems[cause].Consequences, Consequence{Check: f.Check, Text: f.Summary})
		} else {
			d.problems = append(d.problems, Problem{Finding: f})
		}
	}
	d.problems = append(unexplained, d.problems...)
	return m
}

// place puts what stands out before the whole: it says where to look.
func (p slowPart) place() int {
	if p.Kind == bench.FabricFault {
		return 1
	}
	return 0
}

// confirm puts what was measured under a problem that explains it, which so is as grave as what it costs.
func (d *diagnosing) confirm(cause int, f check.Finding) {
	p := &d.problems[cause]
	p.Status = max(p.Status, f.Status)
	p.Consequences = append(p.Consequences, Consequence{Check: f.Check, Text: "measured: " + about(f)})
}

// reached are the pods that have a link that was measured, by their names.
func (b benched) reached() map[string]bool {
	all := map[string]bool{}
	if b.Matrix == nil || !b.Matrix.Whole() {
		return all
	}
	for l := range b.Matrix.Links() {
		all[b.podName(l.A)], all[b.podName(l.B)] = true, true
	}
	return all
}

// podName is a pod as findings name it.
func (b benched) podName(pod int) string { return "pod/" + b.Namespace + "/" + b.Matrix.Pods[pod].Name }

// unmeasured are the pods that were looked at and have no link that was measured.
func unmeasured(machines []Machine, reached map[string]bool) []string {
	var names []string
	for _, m := range machines {
		if !m.IsNode() && m.Unreached == "" && !reached[m.Name] { // Fleet says which were not reached
			names = append(names, m.Name)
		}
	}
	return names
}

// notMeasured says why pods were not measured. Unknown is never healthy.
func (b benched) notMeasured(names []string, of int) check.Finding {
	why := "nothing came of it"
	if len(b.Skipped) > 0 {
		why = strings.Join(b.Skipped, "; ")
	}
	f := check.Finding{
		Check: BenchMeasured, Status: check.Unknown, Subject: "pods", Summary: fmt.Sprintf("%d of %s could not be measured: %s", len(names), countOf(of, "pod"), why),
		Fix: &check.Fix{
			Text: "Measure while nothing trains there, two pods or more, in an image that has perftest; or beside the job, between pods of railhead's own.", Who: check.User,
			Commands: []string{"podman build -t IMAGE build/bench", "railhead bench --nodes NODE,NODE --image IMAGE --matrix --quick"},
		},
	}
	if len(names) > 0 {
		f.Evidence = []check.Evidence{{Source: "the matrix", Got: "nothing of " + some(names), Want: "a link of every pod to another"}}
	}
	return f
}
