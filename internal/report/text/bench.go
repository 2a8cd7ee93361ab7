// Package text writes the results of benches as text for a terminal or a log.
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
	out  io.Writer
	r    bench.Result
	wide bool
}

// Bench writes a result: the tables, the findings, and the verdict as the last line. With wide the table of slow
// links is longer.
func Bench(out io.Writer, r bench.Result, wide bool) error { return benchWriter{out, r, wide}.write() }

func (w benchWriter) write() error {
	report.Line(w.out, "%s", w.title())
	parts := []func() error{w.ladder, w.otherRails, w.allReduces, w.factors, w.matrix, w.loopbacks, w.crossings, w.skipped}
	for _, part := range parts {
		if err := part(); err != nil {
			return err
		}
	}
	fmt.Fprintln(w.out)
	report.Findings(w.out, w.r.Findings, report.Full)
	report.Line(w.out, "%s", w.verdict())
	return nil
}

func (w benchWriter) title() string {
	what := "nodes"
	if w.r.Job != "" {
		what = "job " + w.r.Job
	}
	rails := 0
	if len(w.r.Pods) > 0 {
		rails = len(w.r.Pods[0].Rails)
	}
	took := time.Duration(w.r.Seconds * float64(time.Second)).Round(time.Second)
	return fmt.Sprintf("Bench of %s in namespace %s: %s, %s, %v",
		what, w.r.Namespace, words.Count(len(w.r.Pods), "pod"), words.Count(rails, "rail"), took)
}

// ladder writes the ladder of the first rail, which has also the steps that all rails share.
func (w benchWriter) ladder() error {
	if len(w.r.Ladders) == 0 {
		return nil
	}
	l := w.r.Ladders[0]
	from, to := w.r.Pods[l.From.Pod], w.r.Pods[l.To.Pod]
	fmt.Fprintln(w.out)
	report.Line(w.out, "Ladder: %s > %s%s", podOnNode(from), podOnNode(to), w.railOf(l))
	table := report.Table{Columns: []string{"STEP", "MEASURED", "CEILING", "REACHED", "TOOL"}}
	if l.From.Rail < len(from.Rails) {
		r := from.Rails[l.From.Rail]
		table.Rows = append(table.Rows,
			[]string{"link rate", "", r.Rate.String(), "", fmt.Sprintf("%s, MTU %d", r.Layer, r.MTU)},
			[]string{"payload", "", r.Ceiling.Rate.String(), "", limitOf(r.Ceiling)})
	}
	for _, s := range l.Steps {
		table.Rows = append(table.Rows, w.step(s))
	}
	return table.Write(w.out)
}

func podOnNode(p bench.Pod) string {
	if p.Node == "" {
		return p.Name
	}
	return fmt.Sprintf("%s on %s", p.Name, p.Node)
}

func (w benchWriter) railOf(l bench.PairLadder) string {
	from, to := w.r.Pods[l.From.Pod].Rails, w.r.Pods[l.To.Pod].Rails
	if l.From.Rail >= len(from) || l.To.Rail >= len(to) {
		return ""
	}
	return fmt.Sprintf(", rail %s (%s > %s)", from[l.From.Rail].Name, from[l.From.Rail].Device, to[l.To.Rail].Device)
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

func (w benchWriter) step(s bench.Step) []string {
	row := []string{string(s.Name), "", "", "", s.Tool}
	if s.Ceiling > 0 {
		row[2] = s.Ceiling.String()
	}
	if e, known := s.Efficiency(); known {
		row[3] = percent(e)
	}
	measured, known := s.Measured.Get()
	micros, timed := s.Micros.Get()
	switch {
	case s.Failed != "":
		row[1], row[4] = "FAILED", s.Failed
	case s.Skipped != "":
		row[1], row[4] = "skipped", s.Skipped
	case timed:
		row[1] = fmt.Sprintf("%.2f us", micros)
	case known && (s.Name == bench.NCCLRing || s.Name == bench.NCCLOwn):
		row[1], row[4] = measured.String(), fmt.Sprintf("busbw %s", measured.GBps())
	case known:
		row[1] = measured.String()
	}
	return row
}

func percent(part float64) string { return fmt.Sprintf("%.1f %%", 100*part) }

// otherRails writes one row for the ladder of each rail.
func (w benchWriter) otherRails() error {
	if len(w.r.Ladders) < 2 {
		return nil
	}
	table := report.Table{Columns: []string{"RAIL", "DEVICES", "HOST MEMORY", "GPU MEMORY", "CEILING", "REACHED", "LATENCY"}}
	for _, l := range w.r.Ladders {
		from, to := w.r.Pods[l.From.Pod].Rails[l.From.Rail], w.r.Pods[l.To.Pod].Rails[l.To.Rail]
		row := []string{from.Name, from.Device + " > " + to.Device, "", "", "", "", ""}
		for _, s := range l.Steps {
			cells := w.step(s)
			switch s.Name {
			case bench.WriteHost:
				row[2], row[4], row[5] = cells[1], cells[2], cells[3]
			case bench.WriteGPU:
				row[3] = cells[1]
			case bench.WriteLatency:
				row[6] = cells[1]
			case bench.AllRails, bench.TCPPod, bench.TCPRail, bench.NCCLRing, bench.NCCLOwn:
			}
		}
		table.Rows = append(table.Rows, row)
	}
	fmt.Fprintln(w.out)
	return table.Write(w.out)
}

// allReduces writes every size of every run, and the proof of its network.
func (w benchWriter) allReduces() error {
	for _, run := range w.r.AllReduces {
		name := "NCCL's choice"
		if run.Algorithm != "" {
			name = run.Algorithm
		}
		title := fmt.Sprintf("All-reduce, %s, %s", strings.ToUpper(run.Mode), name)
		if run.Skipped != "" {
			continue // listed with the skipped measurements
		}
		fmt.Fprintln(w.out)
		report.Line(w.out, "%s: %s on %s, %s", title, words.Count(run.Ranks, "rank"), words.Count(run.Nodes, "node"), run.Tool)
		if len(run.Sizes) > 0 {
			table := report.Table{Columns: []string{"SIZE", "ALGBW", "ALGBW (BINARY)", "BUSBW", "OF THE RAILS"}}
			for _, s := range run.Sizes {
				row := []string{sizeText(s.Bytes), s.Algbw.String(), s.Algbw.GiBps().String(), s.Busbw.String(), ""}
				if run.Ceiling > 0 {
					row[4] = percent(float64(s.Busbw / run.Ceiling))
				}
				table.Rows = append(table.Rows, row)
			}
			if err := table.Write(w.out); err != nil {
				return err
			}
		}
		if run.Failed != "" {
			report.Line(w.out, "FAILED: %s", run.Failed)
		}
		report.Line(w.out, "Network: %s", cmp.Or(run.Network, "-"))
		if run.Proof != "" {
			report.Line(w.out, "Proof: %s", run.Proof)
		}
	}
	return nil
}

func sizeText(n int64) string {
	const gib, mib, kib = 1 << 30, 1 << 20, 1 << 10
	switch {
	case n%gib == 0 && n > 0:
		return fmt.Sprintf("%d GiB", n/gib)
	case n%mib == 0 && n > 0:
		return fmt.Sprintf("%d MiB", n/mib)
	case n%kib == 0 && n > 0:
		return fmt.Sprintf("%d KiB", n/kib)
	}
	return fmt.Sprintf("%d B", n)
}

// factors compares RDMA with TCP.
func (w benchWriter) factors() error {
	var lines []string
	if len(w.r.Ladders) > 0 {
		l := w.r.Ladders[0].Steps
		for _, f := range l.Factors() {
			at := slices.IndexFunc(l, func(s bench.Step) bool { return s.Name == f.TCP })
			lines = append(lines, fmt.Sprintf("One rail of RDMA is %.1f times as fast as %s: %s (%s)",
				f.Times, f.TCP, l[at].Measured.Value, l[at].Tool))
		}
	}
	if f, ok := bench.AllReduceFactor(w.r.AllReduces); ok {
		lines = append(lines, fmt.Sprintf("The all-reduce over RDMA is %.1f times as fast as over TCP: busbw %s instead of %s with %s (%s)",
			f.Times, f.RDMA, f.TCP, sizeText(f.Bytes), f.Network))
	}
	if len(lines) > 0 {
		fmt.Fprintln(w.out)
	}
	for _, line := range lines {
		report.Line(w.out, "%s", line)
	}
	return nil
}

func (w benchWriter) skipped() error {
	all := slices.Clone(w.r.Skipped)
	for _, run := range w.r.AllReduces {
		if len(w.r.Ladders) > 0 && w.r.Ladders[0].Steps.Has(bench.NCCLOwn) {
			break // the ladder lists it
		}
		if text := "the all-reduce: " + run.Skipped; run.Skipped != "" && !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	if len(all) > 0 {
		fmt.Fprintln(w.out)
	}
	for _, why := range all {
		report.Line(w.out, "Skipped: %s", why)
	}
	return nil
}

// verdict returns the last line.
func (w benchWriter) verdict() string {
	switch check.Worst(w.r.Findings) {
	case check.Fail:
		return "Result: below target. The first finding above is the root cause."
	case check.Unknown:
		return "Result: unknown. The first finding above says why."
	case check.Warn:
		return "Result: on target, with warnings."
	case check.Pass, check.Skipped:
	}
	target := percent(w.r.MinEfficiency) + " of the ceiling"
	if w.r.MinGbps > 0 {
		target = w.r.MinGbps.String() + " per rail"
	}
	return "Result: on target. Every measurement reaches " + target + "."
}
