package bench

import (
	"slices"
	"time"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
)

// ResultVersion is the version of a Result's JSON form. Readers accept unknown fields.
const ResultVersion = 2

// Result holds the measurements and findings of one bench: `railhead bench -o json` writes it and `railhead report`
// draws it. Measurements that were not requested are absent.
type Result struct {
	SchemaVersion int       `json:"schemaVersion"`
	Begun         time.Time `json:"begun,omitzero"`
	Seconds       float64   `json:"seconds,omitempty"`    // duration
	Unfinished    bool      `json:"unfinished,omitempty"` // it still runs, or was interrupted
	Namespace     string    `json:"namespace,omitempty"`
	Job           string    `json:"job,omitempty"`
	MinEfficiency float64   `json:"minEfficiency"`     // part of the ceiling; less is a finding
	MinGbps       Gbps      `json:"minGbps,omitempty"` // of each rail, instead of MinEfficiency; 0: unset

	Pods        []Pod          `json:"pods"`
	Ladders     []PairLadder   `json:"ladders,omitempty"`
	Matrix      *Matrix        `json:"matrix,omitempty"` // its Pods are the Pods of the Result, in the same order
	Attribution *Attribution   `json:"attribution,omitempty"`
	CrossRails  []Crossing     `json:"crossRails,omitempty"`
	Loopbacks   []OwnLoop      `json:"loopbacks,omitempty"`
	AllReduces  []AllReduceRun `json:"allReduces,omitempty"` // one for each mode

	Series   []Series        `json:"series,omitempty"`   // every number of all runs by name, for `railhead bench diff`
	Findings []check.Finding `json:"findings,omitempty"` // root cause first
	Failures []string        `json:"failures,omitempty"` // links of the matrix without data, and why; the first few
	Skipped  []string        `json:"skipped,omitempty"`  // measurements that were not tried, and why
	Machines []host.Snapshot `json:"machines,omitempty"` // of the pods, in their order; of the first few of many pods
}

// Pod is a pod between which links are measured.
type Pod struct {
	Name  string    `json:"name"`
	Node  string    `json:"node,omitempty"`
	Leaf  string    `json:"leaf,omitempty"`  // switch of its node, from a label of the node; "": unknown
	IP    string    `json:"ip,omitempty"`    // in the pod network
	Tools Tools     `json:"tools,omitempty"` // in its image
	Rails []PodRail `json:"rails,omitempty"` // in the order of the rails of the matrix
	// NoPeermem means that the node has no peer-memory module: NICs reach GPU memory only by DMA-BUF.
	NoPeermem bool `json:"noPeermem,omitempty"`
}

// PodRail is a rail in one pod. The same rail has other device names on other nodes.
type PodRail struct {
	Name    string         `json:"name"`             // eno5np0: the same on every node
	Device  string         `json:"device"`           // mlx5_6
	Port    int            `json:"port"`             //
	Netdev  string         `json:"netdev,omitempty"` // net1
	Address string         `json:"address,omitempty"`
	GID     int            `json:"gid"`                // index; -1: none is needed
	Rate    Gbps           `json:"rateGbps,omitempty"` // of the port; 0: unknown
	Layer   Layer          `json:"layer,omitempty"`    // encapsulation of the payload
	MTU     int            `json:"mtu,omitempty"`      // of RDMA; 0: unknown
	Ceiling Ceiling        `json:"ceiling,omitzero"`   // of the payload
	NUMA    host.Fact[int] `json:"numaNode,omitzero"`  // of its slot
	GPU     host.Fact[int] `json:"gpu,omitzero"`       // the nearest one, by its number in nvidia-smi
	// SlotShare is the part of its PCIe slot that the rail has while the ports of its card carry data together; 0: all.
	SlotShare float64 `json:"slotShare,omitempty"`
}

// PairLadder is the ladder of one pair of pods on one rail.
type PairLadder struct {
	From  End          `json:"from"`
	To    End          `json:"to"`
	Steps Ladder       `json:"steps"`
	State check.Status `json:"status"`
	Gap   *Gap         `json:"gap,omitempty"` // the first step below the gate
}

// Crossing says whether a rail of one pod reaches another rail of another pod.
type Crossing struct {
	From    End    `json:"from"`
	To      End    `json:"to"`
	Reached bool   `json:"reached"`
	Why     string `json:"why,omitempty"` // it does not
}

// OwnLoop is a measurement of an HCA that sends to itself: if it is slow, the card, its slot or its host is at fault.
type OwnLoop struct {
	At       End    `json:"at"`
	Measured Gbps   `json:"gbps,omitempty"`
	Failed   string `json:"failed,omitempty"`
}

// AllReduceRun is an all-reduce of the whole job in one mode.
type AllReduceRun struct {
	Mode      string      `json:"mode"`                // rdma, tcp
	Algorithm string      `json:"algorithm,omitempty"` // Ring; "": NCCL's own choice
	Tool      string      `json:"tool"`                // all_reduce_perf, torch
	Ranks     int         `json:"ranks,omitempty"`
	Nodes     int         `json:"nodes,omitempty"`
	Sizes     []SizedRate `json:"sizes,omitempty"`
	Ceiling   GBps        `json:"ceilingGBps,omitempty"` // of the busbw of a ring; 0: unknown
	Network   string      `json:"network,omitempty"`     // proven by NCCL's log: IB, Socket, ...
	Proof     string      `json:"proof,omitempty"`       // the line of the log that proves it
	PortBytes int64       `json:"portBytes,omitempty"`   // counted by the RDMA ports; -1: the counters are not visible
	Skipped   string      `json:"skipped,omitempty"`     // why it was not tried
	Failed    string      `json:"failed,omitempty"`      // why it was tried and has no number
}

// SizedRate is the rate of one message size.
type SizedRate struct {
	Bytes int64 `json:"bytes"`
	Algbw GBps  `json:"algGBps"`
	Busbw GBps  `json:"busGBps"`
}

// Whole reports whether all pods and rails that the result refers to are in it. In a file they may not be.
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
	if m := r.Matrix; r.Attribution != nil {
		if m == nil || !m.Whole() || len(m.Pods) != len(r.Pods) ||
			slices.ContainsFunc(r.Attribution.Culprits, m.lacksPartOf) {
			return false
		}
	}
	return !slices.ContainsFunc(ends, func(e End) bool {
		return e.Pod < 0 || e.Pod >= len(r.Pods) || e.Rail < 0 || e.Rail >= len(r.Pods[e.Pod].Rails)
	})
}

// lacksPartOf reports whether a culprit is not in the matrix, or is not named.
func (m *Matrix) lacksPartOf(c Culprit) bool {
	names := map[Kind]int{NICFault: 1, PairFault: 2}
	return c.Rail >= len(m.Rails) || c.Kind == LeafFault && len(c.Leaves) == 0 || len(c.Pods) < names[c.Kind] ||
		slices.ContainsFunc(c.Pods, func(pod int) bool { return pod < 0 || pod >= len(m.Pods) })
}
