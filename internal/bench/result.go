package bench

import (
	"slices"
	"time"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
)

// ResultVersion is the version of a Result's JSON form. Readers accept unknown fields.
const ResultVersion = 1

// Result is all that one run of a bench saw and judged: what `railhead bench -o json` writes and `railhead report` draws. What
// was not asked for is absent.
type Result struct {
	SchemaVersion int       `json:"schemaVersion"`
	Begun         time.Time `json:"begun,omitzero"`
	Seconds       float64   `json:"seconds,omitempty"`    // that it took
	Unfinished    bool      `json:"unfinished,omitempty"` // more is being measured, or was to be
	Namespace     string    `json:"namespace,omitempty"`
	Job           string    `json:"job,omitempty"`
	MinEfficiency float64   `json:"minEfficiency"`     // of the ceiling: what is below it is a finding
	MinGbps       Gbps      `json:"minGbps,omitempty"` // of each rail, instead of it; 0: it was not said

	Pods        []Pod          `json:"pods"`
	Ladders     []PairLadder   `json:"ladders,omitempty"`
	Matrix      *Matrix        `json:"matrix,omitempty"` // its Pods are those of the Result, in the same order
	Attribution *Attribution   `json:"attribution,omitempty"`
	CrossRails  []Crossing     `json:"crossRails,omitempty"`
	Loopbacks   []OwnLoop      `json:"loopbacks,omitempty"`
	AllReduces  []AllReduceRun `json:"allReduces,omitempty"` // one for each mode

	Series   []Series        `json:"series,omitempty"`   // every number by its name, of all runs: what `railhead bench diff` compares
	Findings []check.Finding `json:"findings,omitempty"` // root cause first
	Failures []string        `json:"failures,omitempty"` // links of the matrix through which nothing came, and why; the first few
	Skipped  []string        `json:"skipped,omitempty"`  // what was not tried, and why
	Machines []host.Snapshot `json:"machines,omitempty"` // of the pods, in their order; of many pods only some
}

// Pod is a pod that took part.
type Pod struct {
	Name  string    `json:"name"`
	Node  string    `json:"node,omitempty"`
	Leaf  string    `json:"leaf,omitempty"`  // that its node hangs on, by a label of the node; "": not known
	IP    string    `json:"ip,omitempty"`    // in the pod network
	Tools Tools     `json:"tools,omitempty"` // that its image has
	Rails []PodRail `json:"rails,omitempty"` // in the order of the matrix's rails

	NoPeermem bool `json:"noPeermem,omitempty"` // its node has no peer-memory module: NICs reach GPU memory by DMA-BUF or not at all
}

// PodRail is a rail as one pod has it. The same rail has other device names on other nodes.
type PodRail struct {
	Name    string         `json:"name"`             // eno5np0: the same on every node
	Device  string         `json:"device"`           // mlx5_6
	Port    int            `json:"port"`             //
	Netdev  string         `json:"netdev,omitempty"` // net1
	Address string         `json:"address,omitempty"`
	GID     int            `json:"gid"`                // index; -1: none is needed
	Rate    Gbps           `json:"rateGbps,omitempty"` // of the port; 0: not known
	Layer   Layer          `json:"layer,omitempty"`    // what wraps the payload
	MTU     int            `json:"mtu,omitempty"`      // of RDMA; 0: not known
	Ceiling Ceiling        `json:"ceiling,omitzero"`   // of the payload
	NUMA    host.Fact[int] `json:"numaNode,omitzero"`  // of its slot
	GPU     host.Fact[int] `json:"gpu,omitzero"`       // the nearest, as nvidia-smi counts
}

// PairLadder is the ladder of one pair of pods on one rail.
type PairLadder struct {
	From  End          `json:"from"`
	To    End          `json:"to"`
	Steps Ladder       `json:"steps"`
	State check.Status `json:"status"`
	Gap   *Gap         `json:"gap,omitempty"` // the first step that falls short
}

// Crossing is whether a rail of one pod reaches another rail of another pod.
type Crossing struct {
	From    End    `json:"from"`
	To      End    `json:"to"`
	Reached bool   `json:"reached"`
	Why     string `json:"why,omitempty"` // not
}

// OwnLoop is what an HCA moved to itself: what is slow here is slow because of the card, its slot or its host.
type OwnLoop struct {
	At       End    `json:"at"`
	Measured Gbps   `json:"gbps,omitempty"`
	Failed   string `json:"failed,omitempty"`
}

// AllReduceRun is an all-reduce of the whole job in one mode.
type AllReduceRun struct {
	Mode      string      `json:"mode"`                // rdma, tcp
	Algorithm string      `json:"algorithm,omitempty"` // Ring, where NCCL was told so; "": its own choice
	Tool      string      `json:"tool"`                // all_reduce_perf, torch
	Ranks     int         `json:"ranks,omitempty"`
	Nodes     int         `json:"nodes,omitempty"`
	Sizes     []SizedRate `json:"sizes,omitempty"`
	Ceiling   GBps        `json:"ceilingGBps,omitempty"` // of a ring's busbw; 0: not known
	Network   string      `json:"network,omitempty"`     // that NCCL's log proves: IB, Socket, ...
	Proof     string      `json:"proof,omitempty"`       // the line of the log that proves it
	PortBytes int64       `json:"portBytes,omitempty"`   // that the RDMA ports' counters moved; -1: not to be seen
	Skipped   string      `json:"skipped,omitempty"`     // why it was not tried
	Failed    string      `json:"failed,omitempty"`      // why there is no number although it was tried
}

// SizedRate is what was reached with one size of message.
type SizedRate struct {
	Bytes int64 `json:"bytes"`
	Algbw GBps  `json:"algGBps"`
	Busbw GBps  `json:"busGBps"`
}

// Whole reports whether everything that a result speaks of is in it, which a file need not hold.
func (r Result) Whole() bool {
	var ends []End
	for _, l := range r.Ladders {
		ends = append(ends, l.From, l.To)
	}
	for _, c := range r.CrossRails {
		ends = append(ends, c.From, c.To)
	}
	for _, l := range r.Loopbacks {
		ends = append(ends, l.At)
	}
	if m, a := r.Matrix, r.Attribution; a != nil {
		for _, c := range a.Culprits {
			strange := slices.ContainsFunc(c.Pods, func(pod int) bool { return pod < 0 || pod >= len(r.Pods) })
			if m == nil || strange || c.Rail >= len(m.Rails) || c.Kind == LeafFault && len(c.Leaves) == 0 || len(c.Pods) < needed[c.Kind] {
				return false
			}
		}
		if m == nil || !m.Whole() || len(m.Pods) != len(r.Pods) {
			return false
		}
	}
	return !slices.ContainsFunc(ends, func(e End) bool {
		return e.Pod < 0 || e.Pod >= len(r.Pods) || e.Rail < 0 || e.Rail >= len(r.Pods[e.Pod].Rails)
	})
}

// needed is how many pods a culprit names.
var needed = map[Kind]int{NICFault: 1, PairFault: 2}
