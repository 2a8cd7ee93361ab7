package html

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/report"
)

// Ladder holds the steps of one pair of pods, from the wire to the job.
type Ladder struct {
	Title   string       `json:"title"`
	Status  check.Status `json:"status"`
	Steps   []Step       `json:"steps"`
	Wire    string       `json:"wire,omitempty"` // rates of the link and the slot
	Gap     string       `json:"gap,omitempty"`  // the first step below its target, and its layer
	Factors []Factor     `json:"factors,omitempty"`
}

// Step is one bar and its ceiling, in Gb/s.
type Step struct {
	Name    string       `json:"name"`
	Gbps    float64      `json:"gbps,omitempty"`
	Ceiling float64      `json:"ceiling,omitempty"`
	Full    float64      `json:"full,omitempty"`    // 100 % in the chart; for TCP the ceiling of RDMA on one rail
	Text    string       `json:"text"`              // 386.2 Gb/s, 2.1 µs, not measured
	Against string       `json:"against,omitempty"` // 98.5 % of 392.1 Gb/s
	Note    string       `json:"note"`              // 98.5 % of 392.1 Gb/s, limited by the link; why it was skipped
	Status  check.Status `json:"status"`
	TCP     bool         `json:"tcp,omitempty"`
}

// Factor is the speed of RDMA relative to one TCP stream. The rates are in Gb/s.
type Factor struct {
	TCP   string  `json:"tcp"`
	Times float64 `json:"times"`
	RDMA  float64 `json:"rdma"`
	Gbps  float64 `json:"gbps"`
}

func ladderOf(l bench.PairLadder, r bench.Result) Ladder {
	from, to := endName(r, l.From), endName(r, l.To)
	out := Ladder{
		Title:  fmt.Sprintf("%s → %s, %s", from[0], to[0], from[1]),
		Status: l.State,
		Wire:   linkRates(l, r),
	}
	if g := l.Gap; g != nil {
		result := fmt.Sprintf("reaches %s of its ceiling", report.Percent(g.Efficiency))
		if g.Step.Failed != "" {
			result = fmt.Sprintf("failed (%s)", g.Step.Failed)
		}
		out.Gap = fmt.Sprintf("%s %s. Look at %s.", g.Step.Name, result, g.Layer)
	}
	var rdma bench.Gbps
	full := map[bench.StepName]bench.Gbps{}
	for _, s := range l.Steps {
		full[s.Name] = s.Ceiling
		if s.Name == bench.WriteHost {
			rdma = s.Measured.Value
		}
	}
	full[bench.TCPPod], full[bench.TCPRail] = full[bench.WriteHost], full[bench.WriteHost]
	full[bench.NCCLOwn] = full[bench.NCCLRing]
	for _, s := range l.Steps {
		step := stepOf(s, gateOf(r))
		step.Full = float64(full[s.Name])
		out.Steps = append(out.Steps, step)
	}
	for _, f := range l.Steps.Factors() {
		out.Factors = append(out.Factors, Factor{string(f.TCP), f.Times, float64(rdma), float64(rdma) / f.Times})
	}
	return out
}

// linkRates describes the rates of the slower end of a link.
func linkRates(l bench.PairLadder, r bench.Result) string {
	var slower *bench.PodRail
	for _, e := range []bench.End{l.From, l.To} {
		end := railAt(r, e)
		if end != nil && end.Ceiling.Rate > 0 && (slower == nil || end.Ceiling.Rate < slower.Ceiling.Rate) {
			slower = end
		}
	}
	if slower == nil {
		return ""
	}
	var parts []string
	if slower.Rate > 0 {
		parts = append(parts, "Link rate "+slower.Rate.String())
	}
	payload := "payload ceiling " + slower.Ceiling.Rate.String()
	if slower.MTU > 0 {
		payload += fmt.Sprintf(" (%s, MTU %d)", slower.Layer, slower.MTU)
	}
	slot := "PCIe slot unknown"
	if pcie, known := slower.Ceiling.PCIe.Get(); known {
		slot = "PCIe slot " + pcie.String()
	}
	return strings.Join(append(parts, payload, slot), " · ")
}

func stepOf(s bench.Step, gate bench.Gate) Step {
	out := Step{
		Name:    string(s.Name),
		Ceiling: float64(s.Ceiling),
		Status:  check.Skipped,
		TCP:     s.Name == bench.TCPPod || s.Name == bench.TCPRail,
	}
	measured, known := s.Measured.Get()
	micros, latency := s.Micros.Get()
	switch {
	case s.Failed != "":
		out.Text, out.Note, out.Status = "failed", s.Failed, check.Fail
	case known:
		out.Gbps = float64(measured)
		nccl := s.Name == bench.NCCLRing || s.Name == bench.NCCLOwn
		out.Text = measured.String()
		if nccl {
			out.Text = measured.GBps().String() + " busbw"
		}
		if s.Ceiling <= 0 {
			break // shown for comparison, not judged
		}
		out.Status = judged(gate, measured, s.Ceiling, s.Rails)
		out.Against = ofCeiling(measured, s.Ceiling)
		if nccl {
			out.Against = fmt.Sprintf("%s of %s", report.Percent(float64(measured/s.Ceiling)), s.Ceiling.GBps())
		}
		out.Note = out.Against
		if s.By != "" {
			out.Note += ", limited by the " + string(s.By)
		}
	case latency:
		out.Text = fmt.Sprintf("%.2f µs", micros)
	default:
		out.Text, out.Note = "not measured", cmp.Or(s.Skipped, "no result")
	}
	return out
}

// cards returns the important numbers of a ladder. A matrix shows the rate of RDMA writes itself.
func (l Ladder) cards(m *bench.Matrix) []Card {
	var cards []Card
	for _, s := range l.Steps {
		if s.Name == string(bench.WriteHost) && m == nil && s.Gbps > 0 {
			cards = append(cards, Card{"RDMA write", s.Text, s.Note, s.Status})
		}
		if s.Name == string(bench.WriteLatency) && s.Status != check.Fail && s.Note == "" {
			cards = append(cards, Card{"RDMA write latency", s.Text, l.Title, check.Skipped})
		}
	}
	if len(l.Factors) == 0 {
		return cards
	}
	var notes []string
	for _, f := range l.Factors {
		notes = append(notes, fmt.Sprintf("%.1f× %s", f.Times, f.TCP))
	}
	times := fmt.Sprintf("%.1f×", l.Factors[0].Times)
	return append(cards, Card{"RDMA vs. TCP", times, strings.Join(notes, "; "), check.Skipped})
}
