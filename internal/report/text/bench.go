// Package text writes diagnoses, stories of logs and the results of benches as text for a terminal or a log.
package text

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/report"
	"github.com/railhead/railhead/internal/words"
)

type benchWriter struct {
	text strings.Builder
	r    bench.Result
	wide bool
}

// Bench writes a result: the tables, the findings, and the verdict as the last line. With wide the table of slow
// links is longer.
func Bench(out io.Writer, r bench.Result, wide bool) error {
	w := &benchWriter{r: r, wide: wide}
	w.title()
	w.ladder()
	w.rails()
	for _, run := range r.AllReduces {
		w.allReduce(run)
	}
	w.factors()
	w.matrix()
	w.loopbacks()
	w.crossings()
	w.skipped()
	w.blank()
	report.Findings(&w.text, r.Findings, report.Full)
	w.line("%s", w.verdict())
	_, err := io.WriteString(out, w.text.String())
	return err
}

func (w *benchWriter) blank() { w.text.WriteByte('\n') }

func (w *benchWriter) line(format string, args ...any) { report.Line(&w.text, format, args...) }

func (w *benchWriter) table(rows [][]string, columns ...string) {
	_ = report.Table{Columns: columns, Rows: rows}.Write(&w.text) // a Builder returns no error
}

func (w *benchWriter) title() {
	subject := "nodes"
	if w.r.Job != "" {
		subject = "job " + w.r.Job
	}
	rails := 0
	if len(w.r.Pods) > 0 {
		rails = len(w.r.Pods[0].Rails)
	}
	took := time.Duration(w.r.Seconds * float64(time.Second)).Round(time.Second)
	w.line("Bench of %s in namespace %s: %s, %s, %v", subject, w.r.Namespace,
		words.Count(len(w.r.Pods), "pod"), words.Count(rails, "rail"), took)
}

// ladder writes the ladder of the first rail. Only this one has the steps that all rails share.
func (w *benchWriter) ladder() {
	if len(w.r.Ladders) == 0 {
		return
	}
	l := w.r.Ladders[0]
	from, to := w.r.Pods[l.From.Pod], w.r.Pods[l.To.Pod]
	title := fmt.Sprintf("Ladder: %s > %s", podOnNode(from), podOnNode(to))
	var rows [][]string
	if l.From.Rail < len(from.Rails) {
		r := from.Rails[l.From.Rail]
		rows = [][]string{
			{"link rate", "", r.Rate.String(), "", fmt.Sprintf("%s, MTU %d", r.Layer, r.MTU)},
			{"payload", "", r.Ceiling.Rate.String(), "", limitOf(r.Ceiling)},
		}
		if l.To.Rail < len(to.Rails) {
			title += fmt.Sprintf(", rail %s (%s > %s)", r.Name, r.Device, to.Rails[l.To.Rail].Device)
		}
	}
	for _, s := range l.Steps {
		c := cellsOf(s)
		rows = append(rows, []string{string(s.Name), c.measured, c.ceiling, c.reached, c.note})
	}
	w.blank()
	w.line("%s", title)
	w.table(rows, "STEP", "MEASURED", "CEILING", "OF CEILING", "TOOL")
}

func podOnNode(p bench.Pod) string {
	if p.Node == "" {
		return p.Name
	}
	return fmt.Sprintf("%s on %s", p.Name, p.Node)
}

// limitOf describes the limit that determines a ceiling.
func limitOf(c bench.Ceiling) string {
	pcie, known := c.PCIe.Get()
	switch {
	case c.Rate <= 0:
		return "unknown: the rate or MTU could not be read"
	case !known:
		return "limited by the link; PCIe slot unknown"
	case c.By == bench.ByPCIe:
		return fmt.Sprintf("limited by the PCIe slot; the link allows %s", c.Link)
	}
	return fmt.Sprintf("limited by the link; the PCIe slot allows %s", pcie)
}

// stepCells holds the cells of one step of a ladder.
type stepCells struct{ measured, ceiling, reached, note string }

func cellsOf(s bench.Step) stepCells {
	c := stepCells{note: s.Tool}
	if s.Ceiling > 0 {
		c.ceiling = s.Ceiling.String()
	}
	if e, known := s.Efficiency(); known {
		c.reached = report.Percent(e)
	}
	measured, known := s.Measured.Get()
	micros, timed := s.Micros.Get()
	switch {
	case s.Failed != "":
		c.measured, c.note = "FAILED", s.Failed
	case s.Skipped != "":
		c.measured, c.note = "skipped", s.Skipped
	case timed:
		c.measured = fmt.Sprintf("%.2f us", micros)
	case known:
		c.measured = measured.String()
		if s.Name == bench.NCCLRing || s.Name == bench.NCCLOwn {
			c.note = "busbw " + measured.GBps().String()
		}
	}
	return c
}

// rails writes one row for the ladder of each rail.
func (w *benchWriter) rails() {
	if len(w.r.Ladders) < 2 {
		return
	}
	var rows [][]string
	for _, l := range w.r.Ladders {
		from := w.r.Pods[l.From.Pod].Rails[l.From.Rail]
		to := w.r.Pods[l.To.Pod].Rails[l.To.Rail]
		steps := map[bench.StepName]stepCells{}
		for _, s := range l.Steps {
			steps[s.Name] = cellsOf(s)
		}
		host := steps[bench.WriteHost]
		rows = append(rows, []string{
			from.Name,
			from.Device + " > " + to.Device,
			host.measured,
			steps[bench.WriteGPU].measured,
			host.ceiling,
			host.reached,
			steps[bench.WriteLatency].measured,
		})
	}
	w.blank()
	w.table(rows, "RAIL", "DEVICES", "HOST MEMORY", "GPU MEMORY", "CEILING", "OF CEILING", "LATENCY")
}

// allReduce writes every size of a run, and the proof of its network.
func (w *benchWriter) allReduce(run bench.AllReduceRun) {
	if run.Skipped != "" {
		return // listed with the skipped measurements
	}
	w.blank()
	w.line("All-reduce, %s, %s: %s on %s, %s", strings.ToUpper(run.Mode), cmp.Or(run.Algorithm, "NCCL's choice"),
		words.Count(run.Ranks, "rank"), words.Count(run.Nodes, "node"), run.Tool)
	var rows [][]string
	for _, s := range run.Sizes {
		reached := ""
		if run.Ceiling > 0 {
			reached = report.Percent(float64(s.Busbw / run.Ceiling))
		}
		rows = append(rows, []string{
			words.Bytes(s.Bytes),
			s.Algbw.String(),
			s.Algbw.GiBps().String(),
			s.Busbw.String(),
			reached,
		})
	}
	if len(rows) > 0 {
		w.table(rows, "SIZE", "ALGBW", "ALGBW (BINARY)", "BUSBW", "OF CEILING")
	}
	if run.Failed != "" {
		w.line("FAILED: %s", run.Failed)
	}
	w.line("Network: %s", cmp.Or(run.Network, "-"))
	if run.Proof != "" {
		w.line("Proof: %s", run.Proof)
	}
}

// factors compares RDMA with TCP.
func (w *benchWriter) factors() {
	var lines []string
	if len(w.r.Ladders) > 0 {
		steps := w.r.Ladders[0].Steps
		for _, f := range steps.Factors() {
			tcp := steps[slices.IndexFunc(steps, func(s bench.Step) bool { return s.Name == f.TCP })]
			lines = append(lines, fmt.Sprintf("One rail of RDMA is %.1f times as fast as %s: %s (%s)",
				f.Times, f.TCP, tcp.Measured.Value, tcp.Tool))
		}
	}
	if f, ok := bench.AllReduceFactor(w.r.AllReduces); ok {
		lines = append(lines, fmt.Sprintf("The all-reduce over RDMA is %.1f times as fast as over TCP: "+
			"busbw %s instead of %s with %s (%s)", f.Times, f.RDMA, f.TCP, words.Bytes(f.Bytes), f.Network))
	}
	w.paragraph(lines)
}

func (w *benchWriter) paragraph(lines []string) {
	if len(lines) > 0 {
		w.blank()
	}
	for _, line := range lines {
		w.line("%s", line)
	}
}

func (w *benchWriter) skipped() {
	var lines []string
	add := func(what string) {
		if line := "Skipped: " + what; !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	for _, what := range w.r.Skipped {
		add(what)
	}
	inLadder := len(w.r.Ladders) > 0 && w.r.Ladders[0].Steps.Has(bench.NCCLOwn)
	for _, run := range w.r.AllReduces {
		if run.Skipped != "" && !inLadder {
			add("the all-reduce: " + run.Skipped)
		}
	}
	w.paragraph(lines)
}

// verdict returns the last line.
func (w *benchWriter) verdict() string {
	switch check.Overall(w.r.Findings) {
	case check.Fail:
		return "Result: below target. The first finding above is the root cause."
	case check.Unknown:
		return "Result: unknown. The findings above say why."
	case check.Warn:
		return "Result: on target, with warnings."
	case check.Pass, check.Skipped:
	}
	target := report.Percent(w.r.MinEfficiency) + " of the ceiling"
	if w.r.MinGbps > 0 {
		target = w.r.MinGbps.String() + " per rail"
	}
	return "Result: on target. Every measurement reaches " + target + "."
}
