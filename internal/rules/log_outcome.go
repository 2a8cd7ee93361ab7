package rules

import (
	"fmt"
	"strings"

	"github.com/railhead/railhead/internal/nccllog"
)

// outcome says how the run ended, or how it goes.
func (v *view) outcome() Outcome {
	switch {
	case len(v.failures) > 0:
		return OutcomeFail
	case v.network.Kind == Socket && (v.nodes() != 1 || !v.alone()):
		return OutcomeFallback
	case v.worse():
		return OutcomeDegraded
	case v.recognised():
		return OutcomeOK
	}
	return OutcomeUnknown
}

// worse reports a run that goes, but not as it could.
func (v *view) worse() bool {
	return len(v.degradations()) > 0 || v.gpuDirect == GPUDirectPartial
}

// recognised reports that the log is of a training or of NCCL at all.
func (v *view) recognised() bool {
	const trained = 3
	return len(v.log.Ranks) > 0 || v.log.Trained >= trained || v.log.Tests.Ranks > 0 || v.log.Version != "" || v.log.Tests.Finished.Text != ""
}

// summary is the story in two sentences.
func (v *view) summary(r Run) string {
	var parts []string
	if r.Ranks > 0 {
		what := count(r.Ranks, "rank")
		if r.Nodes > 0 {
			what += " on " + count(r.Nodes, "node")
		}
		parts = append(parts, what)
	}
	if r.NCCLVersion != "unknown" {
		parts = append(parts, "NCCL "+r.NCCLVersion)
	}
	text := strings.Join(parts, ", ")
	if text != "" {
		text += ": "
	}
	text += r.Network.Why
	switch {
	case r.Outcome == OutcomeUnknown:
		text += "; nothing in the log is known to be of NCCL or of a training"
	case len(r.Causes) > 0:
		text += fmt.Sprintf(". %s: %s", outcomeWord(r.Outcome), r.Causes[0].Summary)
	case r.Outcome == OutcomeDegraded:
		text += ". " + outcomeWord(r.Outcome) + ": " + r.GPUReason
	case r.Outcome == OutcomeOK:
		text += ". No line speaks of a fault"
	}
	return text
}

func outcomeWord(o Outcome) string {
	switch o {
	case OutcomeFail:
		return "It failed"
	case OutcomeFallback:
		return "It fell back to TCP"
	case OutcomeDegraded:
		return "It runs worse than it could"
	case OutcomeOK, OutcomeUnknown:
	}
	return "Of note"
}

// victims are those that failed because another did.
func (v *view) victims(causes []Cause) []Victim {
	victims := []Victim{}
	if len(v.failures) == 0 {
		return victims
	}
	of := "a failure that the log does not show"
	if v.first != nil {
		of = v.who(*v.first) + ": " + what(*v.first)
	} else if len(causes) > 0 {
		of = string(causes[0].ID)
	}
	seen := map[string]int{}
	for _, e := range v.failures {
		if !v.isVictim(e) {
			continue
		}
		key := what(e) + "\x00" + v.who(e)
		if _, ok := seen[key]; ok || len(victims) >= mostVictims {
			continue
		}
		seen[key] = len(victims)
		victims = append(victims, Victim{Who: v.who(e), What: what(e), Of: of, Evidence: evidenceOf(e.Quote)})
	}
	return victims
}

// mostVictims bounds the list: of thousands of ranks all but one are victims.
const mostVictims = 16

// isVictim reports a failure that follows from the first one: what is a consequence by its kind, and what others say of a
// rank that failed before.
func (v *view) isVictim(e nccllog.Event) bool {
	if v.first == nil {
		return false
	}
	switch e.Kind {
	case nccllog.TimeLimit:
		return false
	case nccllog.Result, nccllog.Exception, nccllog.Exit, nccllog.Consequence: // of the rank that failed they are its echo
		if e.Rank >= 0 && e.Rank == v.first.Rank || e.Number >= 0 && e.Number == v.first.Number {
			return false
		}
	default:
	}
	if classOf(e) == consequence {
		return true
	}
	return classOf(e) == remote && classOf(*v.first) == own && e.Seq != v.first.Seq
}

// what is an event in a few words.
func what(e nccllog.Event) string {
	switch {
	case e.Completion != nil && e.Completion.Status == statusFlushed:
		return "work request flushed"
	case e.Completion != nil:
		return "bad completion " + e.Completion.Name
	case e.Async != nil:
		return strings.TrimSpace("async event " + e.Async.Event + " " + e.Async.Device)
	case e.Verbs != nil:
		return strings.TrimSpace(e.Verbs.Call + " failed " + e.Verbs.Error)
	}
	words := map[nccllog.Kind]string{
		nccllog.SocketClosed: "connection closed by remote peer", nccllog.ConnectFailed: "connection failed", nccllog.SocketFailed: "socket failed",
		nccllog.Watchdog: "collective timed out", nccllog.Result: "NCCL returned an error", nccllog.Exit: "process ended with an error",
		nccllog.Aborted: "ended by the launcher", nccllog.Exception: "exception", nccllog.Consequence: "operation given up", nccllog.TimeLimit: "time limit",
		nccllog.ShmFailed: "shared memory failed", nccllog.CUDAFailed: "CUDA call failed", nccllog.CUDAError: "CUDA error", nccllog.OutOfMemory: "GPU out of memory",
		nccllog.DuplicateGPU: "two ranks on one GPU", nccllog.Rendezvous: "rendezvous failed", nccllog.OOMKill: "killed for want of memory", nccllog.Xid: "GPU error (Xid)",
		nccllog.NoInterface: "no interface found", nccllog.WrongSocket: "peer speaks another transport", nccllog.Truncated: "message truncated", nccllog.OFICompletion: "request failed",
	}
	text := first(words[e.Kind], "failure")
	if e.Socket != nil && e.Socket.Error != "" {
		text += ": " + e.Socket.Error
	}
	return first(text+named(e), text)
}

func named(e nccllog.Event) string {
	switch e.Kind {
	case nccllog.CUDAFailed, nccllog.CUDAError, nccllog.Exception:
		if e.Name != "" {
			return ": " + e.Name
		}
	default:
	}
	return ""
}
