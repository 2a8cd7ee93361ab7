package text

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/internal/report"
	"github.com/railhead/railhead/internal/words"
)

// matrix writes one row for each rail, and the slowest links.
func (w *benchWriter) matrix() {
	m := w.r.Matrix
	if m == nil || !m.Whole() {
		return
	}
	links := slices.Collect(m.Links())
	rates, dead := make([][]float64, len(m.Rails)), make([]int, len(m.Rails))
	for _, l := range links {
		rates[l.Rail] = append(rates[l.Rail], float64(l.Rate))
		if l.Rate == 0 {
			dead[l.Rail]++
		}
	}
	var rows [][]string
	for r, rail := range m.Rails {
		s := bench.Summarise(rates[r])
		ceiling, reached := "", ""
		if rail.Ceiling > 0 {
			ceiling = rail.Ceiling.String()
		}
		if rail.Ceiling > 0 && s.Runs > 0 {
			reached = report.Percent(s.Median / float64(rail.Ceiling))
		}
		rows = append(rows, []string{
			rail.Name,
			strconv.Itoa(s.Runs),
			rateText(s, s.Median),
			rateText(s, s.Min),
			rateText(s, s.Max),
			ceiling,
			reached,
			strconv.Itoa(dead[r]),
		})
	}
	w.blank()
	w.line("Matrix: %s between %s", words.Count(len(links), "link"), words.Count(len(m.Pods), "pod"))
	w.table(rows, "RAIL", "LINKS", "MEDIAN", "SLOWEST", "FASTEST", "CEILING", "OF CEILING", "WITHOUT DATA")
	w.slowest(links)
}

// rateText returns "" if nothing was measured: the rate is then unknown, not zero.
func rateText(s bench.Summary, rate float64) string {
	if s.Runs == 0 {
		return ""
	}
	return bench.Gbps(rate).String()
}

func (w *benchWriter) slowest(links []bench.MatrixLink) {
	if len(links) == 0 {
		return
	}
	shown := 5
	if w.wide {
		shown = 50
	}
	slices.SortStableFunc(links, func(a, b bench.MatrixLink) int { return cmp.Compare(a.Rate, b.Rate) })
	m := w.r.Matrix
	var rows [][]string
	for _, l := range links[:min(shown, len(links))] {
		rail, reached := m.Rails[l.Rail], ""
		if rail.Ceiling > 0 {
			reached = report.Percent(float64(l.Rate / rail.Ceiling))
		}
		a, b := m.Pods[l.A], m.Pods[l.B]
		rows = append(rows, []string{
			cmp.Or(a.Node, a.Name),
			cmp.Or(b.Node, b.Name),
			rail.Name,
			l.Rate.String(),
			reached,
		})
	}
	w.blank()
	w.table(rows, "SLOWEST LINKS", "TO", "RAIL", "MEASURED", "OF CEILING")
	for _, why := range w.r.Failures {
		w.line("No data: %s", why)
	}
}

// loopbacks writes the rates of HCAs that send to themselves, by rail.
func (w *benchWriter) loopbacks() {
	if len(w.r.Loopbacks) == 0 {
		return
	}
	rates, failed := map[int][]float64{}, map[int]int{}
	for _, l := range w.r.Loopbacks {
		if l.Failed != "" {
			failed[l.At.Rail]++
			continue
		}
		rates[l.At.Rail] = append(rates[l.At.Rail], float64(l.Measured))
	}
	var rows [][]string
	for r, rail := range w.r.Pods[0].Rails {
		s := bench.Summarise(rates[r])
		rows = append(rows, []string{
			rail.Name,
			strconv.Itoa(s.Runs + failed[r]),
			rateText(s, s.Median),
			rateText(s, s.Min),
			strconv.Itoa(failed[r]),
		})
	}
	w.blank()
	w.table(rows, "LOOPBACK OF RAIL", "HCAS", "MEDIAN", "SLOWEST", "FAILED")
}

// crossings writes how many rails reach other rails.
func (w *benchWriter) crossings() {
	if len(w.r.CrossRails) == 0 {
		return
	}
	reached := 0
	for _, c := range w.r.CrossRails {
		if c.Reached {
			reached++
		}
	}
	w.blank()
	w.line("Cross-rail: %d of %s between different rails carry data",
		reached, words.Count(len(w.r.CrossRails), "path"))
}
