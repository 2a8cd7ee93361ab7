package bench

import (
	"slices"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
)

// StepName is a step from the wire to the training job. Each adds one layer to the step before: the first slow step
// names the layer at fault.
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

// layerOf returns the layer that a step adds. It is "" for steps without a ceiling: TCP is shown for comparison,
// NCCL's own choice of algorithm may exceed the ceiling of a ring, and a latency is not a rate.
func layerOf(name StepName) string {
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

// Step is a measured step. Exactly one of Measured, Micros, Skipped and Failed is set.
type Step struct {
	Name     StepName           `json:"name"`
	Measured host.Fact[Gbps]    `json:"gbps,omitzero"`     // payload; of NCCL the busbw
	Micros   host.Fact[float64] `json:"us,omitzero"`       // of a latency
	Ceiling  Gbps               `json:"ceiling,omitempty"` // 0: none
	By       Limit              `json:"by,omitempty"`      // part that determines the ceiling
	Rails    int                `json:"rails,omitempty"`   // that carry it together; 0: one
	Tool     string             `json:"tool,omitempty"`
	Skipped  string             `json:"skipped,omitempty"` // why it was not tried
	Failed   string             `json:"failed,omitempty"`  // why it was tried and has no number
}

// Efficiency returns the part of the ceiling that was reached. It is false if either is unknown.
func (s Step) Efficiency() (float64, bool) {
	measured, known := s.Measured.Get()
	if !known || s.Ceiling <= 0 {
		return 0, false
	}
	return float64(measured / s.Ceiling), true
}

// Ladder holds the steps of one pair of pods, from the wire up.
type Ladder []Step

// Has reports whether the ladder has a step, measured or not.
func (l Ladder) Has(name StepName) bool {
	return slices.ContainsFunc(l, func(s Step) bool { return s.Name == name })
}

// Gap is the first step below the gate.
type Gap struct {
	Step       Step    `json:"step"`
	Efficiency float64 `json:"efficiency"` // 0 if it failed
	Missing    Gbps    `json:"missing"`    // to the ceiling
	Layer      string  `json:"layer"`      // at fault
}

// Gate is the least that a link must reach.
type Gate struct {
	Efficiency float64 // part of its ceiling, such as 0.9
	Gbps       Gbps    // of each rail, instead; 0: unset
}

// Short reports whether a measurement is below the gate. judged is false if the gate does not apply to it.
func (g Gate) Short(measured, ceiling Gbps, rails int) (short, judged bool) {
	switch {
	case g.Gbps > 0:
		return measured < g.Gbps*Gbps(max(rails, 1)), true
	case ceiling > 0:
		return float64(measured) < g.Efficiency*float64(ceiling), true
	}
	return false, false
}

// Judge finds the first gap: a step that failed or is below the gate. The status is Unknown if no step could be judged.
func (l Ladder) Judge(g Gate) (check.Status, *Gap) {
	judged := false
	for _, s := range l {
		layer := layerOf(s.Name)
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

// Factor says how many times as fast RDMA is as a step of TCP.
type Factor struct {
	TCP   StepName `json:"tcp"`
	Times float64  `json:"times"`
}

// Factors compares RDMA with host memory with each measured step of TCP.
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
