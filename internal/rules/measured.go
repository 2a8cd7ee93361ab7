package rules

import (
	"fmt"
	"strings"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/rules/benchrules"
	"github.com/railhead/railhead/internal/words"
)

// Measured is doctor's measurement between the pods that it examined.
type Measured struct {
	Pods    int      `json:"pods"`  // with a measured link
	Links   int      `json:"links"` // between them, one for each rail
	Seconds float64  `json:"seconds,omitempty"`
	Skipped []string `json:"skipped,omitempty"` // parts that were not measured, with the reason
}

// measure adds measurements to the problems: a slow part of the fabric to the problem that explains it, or, without
// one, before all problems. It runs before problems are folded, so that their consequences include the measurements.
func (g *gathered) measure(machines []Judged, r bench.Result) *Measured {
	pods := measuredPods(r)
	m := &Measured{Pods: len(pods), Seconds: r.Seconds, Skipped: r.Skipped}
	if r.Attribution != nil {
		m.Links = r.Attribution.Links
	}
	x := newMeasurementExplainer(g.occurrences, r, machines)
	parts := benchrules.SlowParts(r)
	var unexplained []Problem
	for _, part := range parts {
		if cause := x.cause(part.Culprit); cause >= 0 {
			p := &g.problems[cause]
			p.Status = max(p.Status, part.Finding.Status)
			p.Consequences = append(p.Consequences,
				Consequence{Check: part.Finding.Check, Text: "measured: " + line(part.Finding)})
		} else {
			unexplained = append(unexplained, Problem{Finding: part.Finding})
		}
	}
	if m.Links > 0 && len(parts) == 0 {
		g.passed[Tally{Check: benchrules.Fabric}]++
	}
	var left []check.Ref
	for _, machine := range machines {
		if !machine.IsNode() && machine.Unreached == "" && !pods[machine.Ref] {
			left = append(left, machine.Ref)
		}
	}
	g.addUnmeasured(x, left, *m)
	g.problems = append(unexplained, g.problems...)
	return m
}

// measuredPods returns the pods with a measured link.
func measuredPods(r bench.Result) map[check.Ref]bool {
	pods := map[check.Ref]bool{}
	if r.Matrix == nil || !r.Matrix.Whole() {
		return pods
	}
	measured := make([]bool, len(r.Matrix.Pods))
	for l := range r.Matrix.Links() {
		measured[l.A], measured[l.B] = true, true
	}
	for i, p := range r.Matrix.Pods {
		if measured[i] {
			pods[check.PodRef(r.Namespace, p.Name)] = true
		}
	}
	return pods
}

// addUnmeasured adds the pods that were not measured: that is unknown, not healthy.
func (g *gathered) addUnmeasured(x *measurementExplainer, left []check.Ref, m Measured) {
	if len(left) == 0 && m.Pods > 0 {
		g.passed[Tally{Check: benchrules.Measured}]++
		for _, why := range m.Skipped { // parts of pods that were measured
			g.skipped[Tally{Check: benchrules.Fabric, Why: why}]++
		}
		return
	}
	f := notMeasured(left, m)
	if cause := x.whyNoRail(left); cause >= 0 {
		p := &g.problems[cause]
		p.Consequences = append(p.Consequences, Consequence{Check: f.Check, Text: f.Summary})
		return
	}
	g.problems = append(g.problems, Problem{Finding: f})
}

func notMeasured(pods []check.Ref, m Measured) check.Finding {
	why := "no measurement succeeded"
	if len(m.Skipped) > 0 {
		why = strings.Join(m.Skipped, "; ")
	}
	f := check.Finding{
		Check: benchrules.Measured, Status: check.Unknown, Subject: check.Ref{Kind: check.Pods}, About: pods,
		Summary: fmt.Sprintf("%d of %s could not be measured: %s",
			len(pods), words.Count(m.Pods+len(pods), "pod"), why),
		Fix: check.ByUser("Measure while no training runs there, between two pods or more, with an image that has "+
			"perftest. Or measure between pods that railhead creates on the same nodes.",
			"podman build -t IMAGE build/bench", "railhead bench --nodes NODE,NODE --image IMAGE --matrix --quick"),
	}
	if len(pods) > 0 {
		f.Evidence = check.Observed("the matrix", "no link of "+places(pods), "a link of every pod to another")
	}
	return f
}
