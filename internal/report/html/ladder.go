package html

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/internal/check"
)

// Ladder is the steps of one pair from the wire to the job.
type Ladder struct {
	Title   string       `json:"title"`
	Status  check.Status `json:"status"`
	Steps   []Step       `json:"steps"`
	Wire    string       `json:"wire,omitempty"` // payload rate of the link and the slot
	Gap     string       `json:"gap,omitempty"`  // the first step below its target, and its meaning
	Factors []Factor     `json:"factors,omitempty"`
}

// Step is one bar and the ceiling that it is held against.
type Step struct {
	Name    string       `json:"name"`
	Gbps    float64      `json:"gbps,omitempty"`
	Ceiling float64      `json:"ceiling,omitempty"`
	Full    float64      `json:"full,omitempty"`    // Gb/s that is 100 % in the picture: of TCP the ceiling of RDMA on one rail
	Text    string       `json:"text"`              // 386.2 Gb/s, 2.1 µs, not tried
	Against string       `json:"against,omitempty"` // 98.5 % of 392.1 Gb/s
	Note    string       `json:"note"`              // 98.5 % of 392.1 Gb/s, by its link; why it was not tried
	Status  check.Status `json:"status"`
	TCP     bool         `json:"tcp,omitempty"`
}

// Factor is the speed of RDMA relative to one TCP stream.
type Factor struct {
	TCP   string  `json:"tcp"`
	Times float64 `json:"times"`
	RDMA  float64 `json:"rdma"` // Gb/s
	Gbps  float64 `json:"gbps"`
}

func ladderOf(l bench.PairLadder, r bench.Result) Ladder {
	out := Ladder{
		Title:  fmt.Sprintf("%s → %s, %s", podName(r, l.From), podName(r, l.To), railName(r, l.From)),
		Status: l.State, Wire: wire(l, r),
	}
	if l.Gap != nil {
		out.Gap = fmt.Sprintf("%s reaches %s of its ceiling: look at %s.", l.Gap.Step.Name, percent(l.Gap.Efficiency), l.Gap.Layer)
		if l.Gap.Step.Failed != "" {
			out.Gap = fmt.Sprintf("%s failed (%s): look at %s.", l.Gap.Step.Name, l.Gap.Step.Failed, l.Gap.Layer)
		}
	}
	var rdma bench.Gbps
	full := map[bench.StepName]bench.Gbps{}
	for _, s := range l.Steps {
		full[s.Name] = s.Ceiling
		if s.Name == bench.WriteHost {
			rdma = s.Measured.Value
		}
	}
	full[bench.TCPPod], full[bench.TCPRail], full[bench.NCCLOwn] = full[bench.WriteHost], full[bench.WriteHost], full[bench.NCCLRing]
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

// wire returns the first step of a ladder: the link's rate, and its payload at the slower end.
func wire(l bench.PairLadder, r bench.Result) string {
	var least *bench.PodRail
	for _, e := range []bench.End{l.From, l.To} {
		if e.Pod < 0 || e.Pod >= len(r.Pods) || e.Rail < 0 || e.Rail >= len(r.Pods[e.Pod].Rails) {
			continue
		}
		if at := &r.Pods[e.Pod].Rails[e.Rail]; at.Ceiling.Rate > 0 && (least == nil || at.Ceiling.Rate < least.Ceiling.Rate) {
			least = at
		}
	}
	if least == nil {
		return ""
	}
	var parts []string
	if least.Rate > 0 {
		parts = append(parts, "link rate "+least.Rate.String())
	}
	payload := "payload ceiling " + least.Ceiling.Rate.String()
	if least.MTU > 0 {
		payload += fmt.Sprintf(" (%s, MTU %d)", least.Layer, least.MTU)
	}
	parts = append(parts, payload)
	if pcie, known := least.Ceiling.PCIe.Get(); known {
		parts = append(parts, "PCIe slot "+pcie.String())
	} else {
		parts = append(parts, "PCIe slot not known")
	}
	return strings.Join(parts, " · ")
}

func stepOf(s bench.Step, gate bench.Gate) Step {
	out := Step{Name: string(s.Name), Ceiling: float64(s.Ceiling), Status: check.Skipped, TCP: s.Name == bench.TCPPod || s.Name == bench.TCPRail}
	measured, known := s.Measured.Get()
	micros, latency := s.Micros.Get()
	switch {
	case s.Failed != "":
		out.Text, out.Note, out.Status = "failed", s.Failed, check.Fail
	case known:
		out.Gbps, out.Text = float64(measured), measured.String()
		if s.Name == bench.NCCLRing || s.Name == bench.NCCLOwn {
			out.Text = measured.GBps().String() + " busbw"
		}
		if s.Ceiling > 0 { // the others are shown beside them, not judged
			out.Status = judged(gate, measured, s.Ceiling, s.Rails)
		}
		if s.Ceiling > 0 {
			out.Against = ofCeiling(measured, s.Ceiling)
			if s.Name == bench.NCCLRing || s.Name == bench.NCCLOwn {
				out.Against = fmt.Sprintf("%s of %s", percent(float64(measured/s.Ceiling)), s.Ceiling.GBps())
			}
			out.Note = out.Against
			if s.By != "" {
				out.Note += ", the limit of its " + string(s.By)
			}
		}
	case latency:
		out.Text = fmt.Sprintf("%.2f µs", micros)
	default:
		out.Text, out.Note = "not tried", cmp.Or(s.Skipped, "no number")
	}
	return out
}

// ladderCards are the numbers of the ladder that stands first: the gravest one.
func ladderCards(r bench.Result) []Card {
	if len(r.Ladders) == 0 {
		return nil
	}
	first := r.Ladders[0]
	for _, l := range r.Ladders {
		if l.State > first.State {
			first = l
		}
	}
	l := ladderOf(first, r)
	var cards []Card
	for _, s := range l.Steps {
		if s.Name == string(bench.WriteHost) && r.Matrix == nil && s.Gbps > 0 {
			cards = append(cards, Card{"RDMA write", s.Text, s.Note, s.Status})
		}
		if s.Name == string(bench.WriteLatency) && s.Status != check.Fail && s.Note == "" {
			cards = append(cards, Card{"RDMA write latency", s.Text, l.Title, check.Skipped})
		}
	}
	for i, f := range l.Factors {
		if i == 0 {
			cards = append(cards, Card{"RDMA against TCP", fmt.Sprintf("%.1f×", f.Times), "against " + f.TCP, check.Skipped})
		} else {
			cards[len(cards)-1].Note += fmt.Sprintf("; %.1f× against %s", f.Times, f.TCP)
		}
	}
	return cards
}
