package html

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/rules"
)

// FromBench is the page of one run of a bench.
func FromBench(r bench.Result, file string) Page {
	if len(r.Findings) == 0 && r.Whole() {
		r.Findings = rules.Bench(r) // nobody judged it, or nothing was wrong, and still is not
	}
	p := Page{Title: benchTitle(r), Sources: []Source{{"Bench", file, r.Begun}}, Skipped: r.Skipped, Failures: r.Failures}
	for _, f := range r.Findings {
		if f.Status <= check.Skipped {
			p.Remarks = append(p.Remarks, rules.Problem{Finding: f})
		} else {
			p.Findings = append(p.Findings, rules.Problem{Finding: f})
		}
	}
	gravestFirst(p.Findings)
	gate := gateOf(r)
	if m := r.Matrix; m != nil && m.Whole() && len(m.Values) > 0 {
		l := linksOf(m, r.Attribution, gate)
		p.Links = []Links{l}
		p.Cards = append(p.Cards, l.cards(m, r.Attribution, gate)...)
	}
	for _, l := range r.Ladders {
		p.Ladders = append(p.Ladders, ladderOf(l, r))
	}
	slices.SortStableFunc(p.Ladders, func(a, b Ladder) int { return cmp.Compare(b.Status, a.Status) })
	p.Cards = append(p.Cards, ladderCards(r)...)
	for _, a := range r.AllReduces {
		p.AllReduces = append(p.AllReduces, allReduceOf(a))
	}
	p.Cards = append(p.Cards, allReduceCards(r.AllReduces, gate.Efficiency)...)
	p.Machines, p.Left = benchMachines(r)
	p.Verdict = benchVerdict(r, p)
	p.Facts = benchFacts(r)
	return p
}

func gateOf(r bench.Result) bench.Gate {
	return bench.Gate{Efficiency: r.MinEfficiency, Gbps: r.MinGbps}
}

func benchTitle(r bench.Result) string {
	switch {
	case r.Job != "" && r.Namespace != "":
		return "Job " + r.Job + " in namespace " + r.Namespace
	case r.Job != "":
		return "Job " + r.Job
	case r.Namespace != "":
		return "Namespace " + r.Namespace
	}
	return number(len(r.Pods), "pod")
}

// benchVerdict is the gravest of what was found, and what it was found in.
func benchVerdict(r bench.Result, p Page) Verdict {
	v := Verdict{Status: check.Unknown, Text: "Nothing was measured."}
	var in []string
	if len(p.Links) > 0 {
		measured := p.Links[0].measured
		in = append(in, fmt.Sprintf("%s between %s on %s", number(measured, "link"), number(len(r.Matrix.Pods), "pod"), number(len(r.Matrix.Rails), "rail")))
		if measured > 0 {
			v.Status = check.Pass
		}
	}
	if len(r.Ladders) > 0 {
		in = append(in, number(len(r.Ladders), "ladder"))
		v.Status = check.Pass
		for _, l := range r.Ladders {
			v.Status = max(v.Status, l.State)
		}
	}
	for _, a := range r.AllReduces {
		switch {
		case a.Failed != "":
			v.Status = check.Fail
		case len(a.Sizes) > 0 && len(r.Ladders) == 0 && len(p.Links) == 0:
			v.Status = check.Pass
		}
	}
	if len(r.AllReduces) > 0 {
		in = append(in, "the all-reduce of the whole job")
	}
	if len(p.Findings) > 0 {
		v.Status = max(v.Status, p.Findings[0].Status)
	}
	begun := v.Status != check.Unknown
	if r.Unfinished {
		v.Status = max(v.Status, check.Unknown)
	}
	v.Text = benchSentence(r, p, v.Status)
	if r.Unfinished && !begun {
		v.Text = "Nothing was measured yet."
	}
	if len(in) > 0 {
		v.Detail = "Measured: " + strings.Join(in, ", ")
		if r.Seconds > 0 {
			v.Detail += " in " + time.Duration(r.Seconds*float64(time.Second)).Round(time.Second).String()
		}
		v.Detail += "."
	}
	if len(p.Findings) > 1 {
		v.Detail += " " + number(len(p.Findings), "finding") + ": " + counted(p.Findings) + "."
	}
	if r.Unfinished {
		v.Detail += " The bench has not ended: there is more to measure."
	}
	return v
}

func benchSentence(r bench.Result, p Page, status check.Status) string {
	switch {
	case len(p.Findings) > 0:
		return headline(p.Findings[0])
	case status == check.Fail || status == check.Warn:
		for _, l := range r.Ladders {
			if l.Gap != nil {
				return fmt.Sprintf("The first gap is in %s: what it adds is %s.", l.Gap.Step.Name, l.Gap.Layer)
			}
		}
		return "A measurement failed."
	case r.Unfinished:
		return "Nothing falls short so far."
	case status == check.Unknown:
		return "Nothing that was measured can be held against a ceiling."
	}
	if r.MinGbps > 0 {
		return fmt.Sprintf("Nothing is below %s a rail.", r.MinGbps)
	}
	return fmt.Sprintf("Nothing is below %s of its ceiling.", percent(r.MinEfficiency))
}

// benchFacts are the numbers behind the pictures.
func benchFacts(r bench.Result) []Table {
	var facts []Table
	pods := Table{Title: "Pods and rails", Columns: []string{"Pod", "Node", "Rail", "Device", "Interface", "Address", "GID", "Payload ceiling", "Limited by"}}
	for _, pod := range r.Pods {
		for _, rail := range pod.Rails {
			gid := "none"
			if rail.GID >= 0 {
				gid = fmt.Sprint(rail.GID)
			}
			ceiling, by := "", ""
			if rail.Ceiling.Rate > 0 {
				ceiling, by = rail.Ceiling.Rate.String(), string(rail.Ceiling.By)
			}
			pods.Rows = append(pods.Rows, []string{pod.Name, pod.Node, rail.Name, fmt.Sprintf("%s:%d", rail.Device, rail.Port), rail.Netdev, rail.Address, gid, ceiling, by})
		}
	}
	facts = append(facts, limited(pods))
	series := Table{Title: "Series: several runs of each measurement", Columns: []string{"Name", "Runs", "Median", "Spread", "Least", "Most"}}
	for _, s := range r.Series {
		sum := bench.Summarise(s.Values)
		n := func(v float64) string { return fmt.Sprintf("%.4g", v) }
		series.Rows = append(series.Rows, []string{s.Name, fmt.Sprint(sum.Runs), n(sum.Median), n(sum.Spread), n(sum.Min), n(sum.Max)})
	}
	loops := Table{Title: "Loopback: what an HCA moves to itself", Columns: []string{"Pod", "Rail", "Measured"}}
	for _, l := range r.Loopbacks {
		loops.Rows = append(loops.Rows, []string{podName(r, l.At), railName(r, l.At), cmp.Or(l.Failed, l.Measured.String())})
	}
	cross := Table{Title: "Rails that do not reach other rails", Columns: []string{"From", "Rail", "To", "Rail", "Why"}}
	for _, c := range r.CrossRails {
		if !c.Reached {
			cross.Rows = append(cross.Rows, []string{podName(r, c.From), railName(r, c.From), podName(r, c.To), railName(r, c.To), c.Why})
		}
	}
	for _, t := range []Table{limited(series), limited(loops), limited(cross), machineFacts(benchSnapshots(r))} {
		if len(t.Rows) > 0 {
			facts = append(facts, t)
		}
	}
	return facts
}

// limited cuts a table off where nobody reads on: the page is to open at once. The JSON has all of it.
func limited(t Table) Table {
	const most = 1000
	if more := len(t.Rows) - most; more > 0 {
		t.Rows = t.Rows[:most:most]
		t.Title += fmt.Sprintf(" (the first %s; %s more are in the JSON)", thousands(most), thousands(more))
	}
	return t
}

func podName(r bench.Result, e bench.End) string {
	if e.Pod < 0 || e.Pod >= len(r.Pods) {
		return fmt.Sprintf("pod %d", e.Pod)
	}
	return r.Pods[e.Pod].Name
}

// railName is the rail's own name, else its number: a file may say what it wants.
func railName(r bench.Result, e bench.End) string {
	if e.Pod < 0 || e.Pod >= len(r.Pods) || e.Rail < 0 || e.Rail >= len(r.Pods[e.Pod].Rails) {
		return fmt.Sprintf("rail %d", e.Rail)
	}
	return r.Pods[e.Pod].Rails[e.Rail].Name
}
