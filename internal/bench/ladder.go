package bench

import (
	"slices"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
)

// StepName is a step from the wire to the training job. Each adds one layer to the step before, so that the first
// one that falls short names the layer that is broken.
type StepName string

// The steps, from the wire up.
const (
	WriteHost    StepName = "RDMA write, host memory"
	WriteGPU     StepName = "RDMA write, GPU memory"
	AllRails     StepName = "RDMA write, all rails at once"
	TCPPod       StepName = "TCP over the pod network"
	TCPRail      StepName = "TCP over the rail"
	NCCLRing     StepName = "NCCL all-reduce, ring"
	NCCLOwn      StepName = "NCCL all-reduce, NCCL's choice"
	WriteLatency StepName = "RDMA write latency"
)

// layers are what each step adds to the step before. What is not here has no ceiling to be judged against: TCP is shown
// beside RDMA, NCCL's own choice may exceed a ring's, and a latency is no rate.
func layers(name StepName) string {
	switch name {
	case WriteHost:
		return "the wire, the NIC or its PCIe slot"
	case WriteGPU:
		return "GPUDirect RDMA: the path between GPU and NIC"
	case AllRails:
		return "what the rails share: PCIe switch, CPU socket, leaf uplinks"
	case NCCLRing:
		return "NCCL: its channels, its GPU and NIC assignment, its transport"
	case TCPPod, TCPRail, NCCLOwn, WriteLatency:
	}
	return ""
}

// Step is one step as it was measured. Exactly one of Measured, Micros, Skipped and Failed says something.
type Step struct {
	Name     StepName           `json:"name"`
	Measured host.Fact[Gbps]    `json:"gbps,omitzero"`     // payload; of NCCL the busbw
	Micros   host.Fact[float64] `json:"us,omitzero"`       // of a latency
	Ceiling  Gbps               `json:"ceiling,omitempty"` // 0: there is none
	By       Limit              `json:"by,omitempty"`      // what the ceiling comes from
	Rails    int                `json:"rails,omitempty"`   // that carry it together; 0: one
	Tool     string             `json:"tool,omitempty"`    // that measured it
	Skipped  string             `json:"skipped,omitempty"` // why it was not tried
	Failed   string             `json:"failed,omitempty"`  // why there is no number although it was tried
}

// Efficiency is the part of the ceiling that was reached; false where either is not known.
func (s Step) Efficiency() (float64, bool) {
	measured, known := s.Measured.Get()
	if !known || s.Ceiling <= 0 {
		return 0, false
	}
	return float64(measured / s.Ceiling), true
}

// Ladder is the steps of one pair of pods, from the wire up.
type Ladder []Step

// Has reports whether a step was taken, or would have been.
func (l Ladder) Has(name StepName) bool {
	return slices.ContainsFunc(l, func(s Step) bool { return s.Name == name })
}

// Gap is the first step that falls short.
type Gap struct {
	Step       Step    `json:"step"`
	Efficiency float64 `json:"efficiency"` // 0 if it failed
	Missing    Gbps    `json:"missing"`    // to the ceiling
	Layer      string  `json:"layer"`      // what is broken
}

// Gate is what a link must reach at least.
type Gate struct {
	Efficiency float64 // of its ceiling: 0.9
	Gbps       Gbps    // of each rail, instead; 0: it is not said
}

// Short reports whether a measurement falls short of the gate; judged is false where the gate does not apply to it.
func (g Gate) Short(measured, ceiling Gbps, rails int) (short, judged bool) {
	switch {
	case g.Gbps > 0:
		return measured < g.Gbps*Gbps(max(rails, 1)), true
	case ceiling > 0:
		return float64(measured) < g.Efficiency*float64(ceiling), true
	}
	return false, false
}

// Judge finds the first gap: a step that falls short of the gate, or one that failed. Without a step that could be judged
// the answer is Unknown.
func (l Ladder) Judge(g Gate) (check.Status, *Gap) {
	judged := false
	for _, s := range l {
		layer := layers(s.Name)
		if layer == "" {
			continue
		}
		if s.Failed != "" {
			return check.Fail, &Gap{Step: s, Missing: s.Ceiling, Layer: layer}
		}
		measured, known := s.Measured.Get()
		if !known {
			continue
		}
		short, applies := g.Short(measured, s.Ceiling, s.Rails)
		judged = judged || applies
		if short {
			efficiency, _ := s.Efficiency()
			return check.Fail, &Gap{Step: s, Efficiency: efficiency, Missing: max(s.Ceiling-measured, 0), Layer: layer}
		}
	}
	if !judged {
		return check.Unknown, nil
	}
	return check.Pass, nil
}

// Factor is how many times faster RDMA is than TCP, and which TCP that is.
type Factor struct {
	TCP   StepName `json:"tcp"`
	Times float64  `json:"times"`
}

// Factors are RDMA with host memory against each TCP that was measured.
func (l Ladder) Factors() []Factor {
	var rdma Gbps
	for _, s := range l {
		if s.Name == WriteHost {
			rdma = s.Measured.Value
		}
	}
	var factors []Factor
	for _, s := range l {
		if (s.Name == TCPPod || s.Name == TCPRail) && s.Measured.Value > 0 && rdma > 0 {
			factors = append(factors, Factor{s.Name, float64(rdma / s.Measured.Value)})
		}
	}
	return factors
}
