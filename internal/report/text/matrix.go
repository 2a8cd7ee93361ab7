package text

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/internal/report"
	"github.com/railhead/railhead/internal/words"
)

// matrix writes one row for each rail, and the slowest links.
func (w benchWriter) matrix() error {
	m := w.r.Matrix
	if m == nil || !m.Whole() {
		return nil
	}
	links := slices.Collect(m.Links())
	fmt.Fprintln(w.out)
	report.Line(w.out, "Matrix: %s between %s", words.Count(len(links), "link"), words.Count(len(m.Pods), "pod"))
	table := report.Table{Columns: []string{
		"RAIL", "LINKS", "MEDIAN", "SLOWEST", "FASTEST", "CEILING", "MEDIAN / CEILING", "DEAD",
	}}
	rates, dead := make([][]float64, len(m.Rails)), make([]int, len(m.Rails))
	for _, l := range links {
		rates[l.Rail] = append(rates[l.Rail], float64(l.Rate))
		if l.Rate == 0 {
			dead[l.Rail]++
		}
	}
	for r, rail := range m.Rails {
		s := bench.Summarise(rates[r])
		row := []string{
			rail.Name, fmt.Sprint(s.Runs), bench.Gbps(s.Median).String(), bench.Gbps(s.Min).String(), bench.Gbps(s.Max).String(),
			"", "", fmt.Sprint(dead[r]),
		}
		if rail.Ceiling > 0 {
			row[5], row[6] = rail.Ceiling.String(), percent(s.Median/float64(rail.Ceiling))
		}
		table.Rows = append(table.Rows, row)
	}
	if err := table.Write(w.out); err != nil {
		return err
	}
	return w.slowest(links)
}

func (w benchWriter) slowest(links []bench.MatrixLink) error {
	shown := 5
	if w.wide {
		shown = 50
	}
	slices.SortStableFunc(links, func(a, b bench.MatrixLink) int { return cmp.Compare(a.Rate, b.Rate) })
	m := w.r.Matrix
	table := report.Table{Columns: []string{"SLOWEST LINKS", "", "RAIL", "MEASURED", "OF THE CEILING"}}
	for _, l := range links[:min(shown, len(links))] {
		row := []string{placeOf(m.Pods[l.A]), placeOf(m.Pods[l.B]), m.Rails[l.Rail].Name, l.Rate.String(), ""}
		if c := m.Rails[l.Rail].Ceiling; c > 0 {
			row[4] = percent(float64(l.Rate / c))
		}
		table.Rows = append(table.Rows, row)
	}
	if len(table.Rows) == 0 {
		return nil
	}
	fmt.Fprintln(w.out)
	if err := table.Write(w.out); err != nil {
		return err
	}
	for _, why := range w.r.Failures {
		report.Line(w.out, "No data: %s", why)
	}
	return nil
}

func placeOf(p bench.MatrixPod) string { return cmp.Or(p.Node, p.Name) }

// loopbacks writes the rates of HCAs that send to themselves, by rail.
func (w benchWriter) loopbacks() error {
	if len(w.r.Loopbacks) == 0 {
		return nil
	}
	rates, failed := map[int][]float64{}, map[int]int{}
	for _, l := range w.r.Loopbacks {
		if l.Failed != "" {
			failed[l.At.Rail]++
			continue
		}
		rates[l.At.Rail] = append(rates[l.At.Rail], float64(l.Measured))
	}
	table := report.Table{Columns: []string{"LOOPBACK OF RAIL", "HCAS", "MEDIAN", "SLOWEST", "FAILED"}}
	for r := range w.r.Pods[0].Rails {
		s := bench.Summarise(rates[r])
		table.Rows = append(table.Rows, []string{
			w.r.Pods[0].Rails[r].Name, fmt.Sprint(s.Runs + failed[r]),
			bench.Gbps(s.Median).String(), bench.Gbps(s.Min).String(), fmt.Sprint(failed[r]),
		})
	}
	fmt.Fprintln(w.out)
	return table.Write(w.out)
}

// crossings writes how many rails reach other rails.
func (w benchWriter) crossings() error {
	if len(w.r.CrossRails) == 0 {
		return nil
	}
	reached := 0
	for _, c := range w.r.CrossRails {
		if c.Reached {
			reached++
		}
	}
	fmt.Fprintln(w.out)
	report.Line(w.out, "Rails across: %d of %s between different rails carry data",
		reached, words.Count(len(w.r.CrossRails), "path"))
	return nil
}
