package html

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/report"
	"github.com/railhead/railhead/internal/rules"
	"github.com/railhead/railhead/internal/rules/benchrules"
)

// FromBench returns the page of one bench.
func FromBench(r bench.Result, file string) Page {
	if len(r.Findings) == 0 && r.Whole() {
		r.Findings = benchrules.Judge(r)
	}
	p := Page{
		Title:    benchTitle(r),
		Sources:  []Source{{"Bench", file, r.Begun}},
		Skipped:  r.Skipped,
		Failures: r.Failures,
		Facts:    benchFacts(r),
	}
	for _, f := range r.Findings {
		if f.Status <= check.Skipped {
			p.Remarks = append(p.Remarks, rules.Problem{Finding: f})
		} else {
			p.Findings = append(p.Findings, rules.Problem{Finding: f})
		}
	}
	sortFindings(p.Findings)
	var slow []benchrules.SlowPart
	if r.Whole() {
		slow = benchrules.SlowParts(r)
	}
	gate := gateOf(r)
	if m := r.Matrix; m != nil && m.Whole() && len(m.Values) > 0 {
		l := linksOf(m, r.Attribution, slow, gate)
		p.Links = []Links{l}
		p.Cards = append(p.Cards, l.cards(m, r.Attribution, gate)...)
	}
	for _, l := range r.Ladders {
		p.Ladders = append(p.Ladders, ladderOf(l, r))
	}
	slices.SortStableFunc(p.Ladders, func(a, b Ladder) int { return cmp.Compare(b.Status, a.Status) })
	if len(p.Ladders) > 0 {
		p.Cards = append(p.Cards, p.Ladders[0].cards(r.Matrix)...)
	}
	for _, a := range r.AllReduces {
		p.AllReduces = append(p.AllReduces, allReduceOf(a))
	}
	p.Cards = append(p.Cards, allReduceCards(r.AllReduces, gate)...)
	p.Machines, p.NotDrawn = benchMachines(r, slow)
	p.Verdict = benchVerdict(r, p)
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

func benchVerdict(r bench.Result, p Page) Verdict {
	v := Verdict{Status: benchStatus(r, p), Detail: measuredParts(r, p)}
	begun := v.Status != check.Unknown
	if r.Unfinished {
		v.Status = max(v.Status, check.Unknown)
	}
	v.Text = benchSentence(r, p, v.Status)
	if r.Unfinished && !begun {
		v.Text = "Nothing has been measured yet."
	}
	if n := len(p.Findings); n > 1 {
		v.Detail += fmt.Sprintf(" %s: %s.", number(n, "finding"), statusCounts(p.Findings))
	}
	if r.Unfinished {
		v.Detail += " The bench is still running, or was interrupted."
	}
	return v
}

// benchStatus returns the worst status of the measurements and findings, or Unknown if nothing was measured.
func benchStatus(r bench.Result, p Page) check.Status {
	var all []check.Status
	if len(p.Links) > 0 && p.Links[0].measured > 0 {
		all = append(all, check.Pass)
	}
	for _, l := range r.Ladders {
		all = append(all, l.State)
	}
	for _, a := range r.AllReduces {
		switch {
		case a.Failed != "":
			all = append(all, check.Fail)
		case len(a.Sizes) > 0 && len(p.Links) == 0:
			all = append(all, check.Pass)
		}
	}
	for _, f := range p.Findings {
		all = append(all, f.Status)
	}
	if len(all) == 0 {
		return check.Unknown
	}
	return slices.Max(all)
}

// measuredParts returns what was measured, and how long it took.
func measuredParts(r bench.Result, p Page) string {
	var parts []string
	if len(p.Links) > 0 {
		parts = append(parts, fmt.Sprintf("%s between %s on %s", number(p.Links[0].measured, "link"),
			number(len(r.Matrix.Pods), "pod"), number(len(r.Matrix.Rails), "rail")))
	}
	if len(r.Ladders) > 0 {
		parts = append(parts, number(len(r.Ladders), "ladder"))
	}
	if len(r.AllReduces) > 0 {
		parts = append(parts, "the all-reduce of the whole job")
	}
	if len(parts) == 0 {
		return ""
	}
	text := "Measured: " + strings.Join(parts, ", ")
	if r.Seconds > 0 {
		text += " in " + time.Duration(r.Seconds*float64(time.Second)).Round(time.Second).String()
	}
	return text + "."
}

func benchSentence(r bench.Result, p Page, status check.Status) string {
	switch {
	case len(p.Findings) > 0:
		return headline(p.Findings[0])
	case status == check.Fail || status == check.Warn:
		for _, l := range r.Ladders {
			if l.Gap != nil {
				return fmt.Sprintf("The first slow step is %s. Look at %s.", l.Gap.Step.Name, l.Gap.Layer)
			}
		}
		return "A measurement failed."
	case r.Unfinished:
		return "No measurement is below the target so far."
	case status == check.Unknown:
		return "No measurement can be compared with a ceiling."
	case r.MinGbps > 0:
		return fmt.Sprintf("Every measurement reaches %s per rail.", r.MinGbps)
	}
	return fmt.Sprintf("Every measurement reaches %s of its ceiling.", report.Percent(r.MinEfficiency))
}

// benchFacts returns the numbers behind the charts.
func benchFacts(r bench.Result) []Table {
	series := Table{
		Title:   "Series: several runs of each measurement",
		Columns: []string{"Name", "Runs", "Median", "Spread", "Lowest", "Highest"},
	}
	for _, s := range r.Series {
		row := []string{s.Name}
		sum := bench.Summarise(s.Values)
		for _, v := range []float64{float64(sum.Runs), sum.Median, sum.Spread, sum.Min, sum.Max} {
			row = append(row, fmt.Sprintf("%.4g", v))
		}
		series.Rows = append(series.Rows, row)
	}
	loopbacks := Table{
		Title:   "Loopback: each HCA sends to itself",
		Columns: []string{"Pod", "Rail", "Measured"},
	}
	for _, l := range r.Loopbacks {
		loopbacks.Rows = append(loopbacks.Rows, append(endName(r, l.At), cmp.Or(l.Failed, l.Measured.String())))
	}
	crossings := Table{
		Title:   "Rails that cannot reach other rails",
		Columns: []string{"From", "Rail", "To", "Rail", "Reason"},
	}
	for _, c := range r.CrossRails {
		if !c.Reached {
			ends := append(endName(r, c.From), endName(r, c.To)...)
			crossings.Rows = append(crossings.Rows, append(ends, c.Why))
		}
	}
	facts := []Table{limited(podFacts(r))}
	for _, t := range []Table{series, loopbacks, crossings, machineFacts(benchSnapshots(r))} {
		if len(t.Rows) > 0 {
			facts = append(facts, limited(t))
		}
	}
	return facts
}

func podFacts(r bench.Result) Table {
	t := Table{
		Title: "Pods and rails",
		Columns: []string{
			"Pod", "Node", "Rail", "Device", "Interface", "Address", "GID", "Payload ceiling", "Limited by",
		},
	}
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
			t.Rows = append(t.Rows, []string{
				pod.Name,
				pod.Node,
				rail.Name,
				fmt.Sprintf("%s:%d", rail.Device, rail.Port),
				rail.Netdev,
				rail.Address,
				gid,
				ceiling,
				by,
			})
		}
	}
	return t
}

// limited cuts off a long table, so that the page opens quickly. The JSON has all rows.
func limited(t Table) Table {
	const most = 1000
	if more := len(t.Rows) - most; more > 0 {
		t.Rows = t.Rows[:most:most]
		t.Title += fmt.Sprintf("; the JSON has %s more", thousands(more))
	}
	return t
}

// endName returns the names of a pod and of its rail, or their indices if a file refers to others than it contains.
func endName(r bench.Result, e bench.End) []string {
	names := []string{fmt.Sprintf("pod %d", e.Pod), fmt.Sprintf("rail %d", e.Rail)}
	if e.Pod >= 0 && e.Pod < len(r.Pods) {
		names[0] = r.Pods[e.Pod].Name
	}
	if rail := railAt(r, e); rail != nil {
		names[1] = rail.Name
	}
	return names
}

// railAt returns nil for an end that the result does not contain.
func railAt(r bench.Result, e bench.End) *bench.PodRail {
	if e.Pod < 0 || e.Pod >= len(r.Pods) || e.Rail < 0 || e.Rail >= len(r.Pods[e.Pod].Rails) {
		return nil
	}
	return &r.Pods[e.Pod].Rails[e.Rail]
}
