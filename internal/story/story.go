package story

import (
	"slices"

	"github.com/railhead/railhead/internal/nccllog/event"
)

// StorySchema is the version of Story's JSON. Fields are added within a version; none changes its meaning.
const StorySchema = 1

// Story is the judgement of the logs of one or several runs, as `railhead explain -o json` prints it.
type Story struct {
	SchemaVersion int       `json:"schemaVersion"`
	Runs          []Run     `json:"runs"`
	Skipped       []Skipped `json:"skipped,omitempty"` // inputs that were not read
}

// Skipped is an input, or a part of one, that was not read.
type Skipped struct {
	File   string `json:"file"`
	Reason string `json:"reason"`
	Failed bool   `json:"failed,omitempty"` // a log that could not be opened or read to its end
}

// Run is one start of a job.
type Run struct {
	NCCLVersion string    `json:"ncclVersion"` // "2.28.9+cuda12.9"; "unknown" when no line says it
	Ranks       int       `json:"ranks"`       // 0: no line says it
	Nodes       int       `json:"nodes"`       // 0: no line says it
	Network     Network   `json:"network"`
	Traffic     Traffic   `json:"-"`
	GPUDirect   GPUDirect `json:"gpuDirect"`
	GPUReason   string    `json:"gpuDirectReason,omitempty"` // the line's distance, or the module that lacks
	Outcome     Outcome   `json:"outcome"`
	// a line shows that communicators were closed, or a benchmark's result
	Ended       bool         `json:"ended"`
	Finished    *Evidence    `json:"finished,omitempty"` // the line with which the program says that it succeeded
	Summary     string       `json:"summary"`
	Causes      []Cause      `json:"causes"` // the most probable first
	Victims     []Victim     `json:"victims"`
	Survived    []Evidence   `json:"survived,omitempty"`    // lines of failures after which the run went on
	Differences []Difference `json:"differences,omitempty"` // between the ranks
	Variables   []string     `json:"variables,omitempty"`   // to set for a log that tells more: NAME=value
}

// Kind is the kind of a network, whatever its plugin is called.
type Kind string

// Kinds of networks. IB stands also for verbs whose link layer no line tells: Network.LinkLayer is "unknown" then.
const (
	IB             Kind = "IB"
	RoCE           Kind = "RoCE"
	Socket         Kind = "Socket"
	OFI            Kind = "OFI"
	GIB            Kind = "gIB"
	FastSocket     Kind = "FastSocket"
	OtherNetwork   Kind = "other"
	NoNetwork      Kind = "none" // NCCL found none and ended
	UnknownNetwork Kind = "unknown"
)

// Network is the network that carried, or should have carried, the data between the nodes.
type Network struct {
	// as NCCL prints it: IB, IBext_v11, Socket, AWS Libfabric; "" when no line says it
	Name      string     `json:"name"`
	Kind      Kind       `json:"kind"`
	LinkLayer string     `json:"linkLayer"` // InfiniBand, RoCE, mixed, unknown; "" for a network without verbs
	Used      *bool      `json:"used"`      // null: one node needs no network, or no line tells
	Why       string     `json:"why"`       // one sentence
	Evidence  []Evidence `json:"evidence"`
	Transport Transport  `json:"-"`
}

// GPUDirect tells whether NICs read and write GPU memory directly.
type GPUDirect string

// What a log can show of GPUDirect RDMA.
const (
	GPUDirectYes     GPUDirect = "yes"
	GPUDirectNo      GPUDirect = "no"
	GPUDirectPartial GPUDirect = "partial"
	GPUDirectUnknown GPUDirect = "unknown"
)

// Outcome tells how a run ended, or how it goes.
type Outcome string

// Outcomes. OK means that no line reports a fault.
const (
	OutcomeOK       Outcome = "ok"
	OutcomeFallback Outcome = "fallback" // runs over TCP
	OutcomeDegraded Outcome = "degraded"
	OutcomeFail     Outcome = "fail"
	OutcomeUnknown  Outcome = "unknown"
)

// Evidence is a line of a log, as it stands there.
type Evidence struct {
	File string `json:"file"`
	Line int    `json:"line"` // from 1
	Text string `json:"text"`
}

// Confidence in a cause.
type Confidence = event.Confidence

// Confidences of causes.
const (
	Certain  = event.Certain
	Likely   = event.Likely
	Possible = event.Possible
)

// Cause is why a run failed, fell back or is slow.
type Cause struct {
	ID         CauseID    `json:"id"`
	Confidence Confidence `json:"confidence"`
	Network    bool       `json:"network"` // whether the network is at fault; false where it is not known, too
	Summary    string     `json:"summary"` // with ranks, hosts and numbers
	Evidence   []Evidence `json:"evidence"`
	Fix        string     `json:"fix"`
	Experiment string     `json:"experiment"` // tells it from the next candidate
	Stated     bool       `json:"-"`          // a line says the reason, also where the catalogue has no cause for it
}

// ExcludesNetwork reports whether the causes prove that the network is not at fault: the first one is certain and does
// not depend on it, and no other one is of the network. A hang, a closed connection and a process that ended for an
// unknown reason prove nothing.
func (r Run) ExcludesNetwork() bool {
	if len(r.Causes) == 0 || r.Causes[0].Confidence != Certain {
		return false
	}
	switch r.Causes[0].ID {
	case UnknownCause, HangTimeout, PeerDied:
		return false
	}
	return !slices.ContainsFunc(r.Causes, func(c Cause) bool { return c.Network })
}

// Victim is a rank, or several, that failed because another did.
type Victim struct {
	Who      string   `json:"who"`  // "rank 5 on node-2", "7 ranks"
	What     string   `json:"what"` // "work request flushed", "connection closed by remote peer"
	Of       string   `json:"of"`   // the failure it follows from
	Evidence Evidence `json:"evidence"`
}

// Difference is a value that the ranks of a run do not share.
type Difference struct {
	What   string  `json:"what"` // "network", "gpuDirect", "version", "NCCL_IB_HCA"
	Groups []Group `json:"groups"`
}

// Group is the ranks that share one value.
type Group struct {
	Value string   `json:"value"`
	Ranks int      `json:"ranks"`
	Who   []string `json:"who"` // hosts, or ranks where the host is not known; a few
}
