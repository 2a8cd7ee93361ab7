package story

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/nccllog"
	"github.com/railhead/railhead/internal/nccllog/codes"
	"github.com/railhead/railhead/internal/nccllog/event"
	"github.com/railhead/railhead/internal/words"
)

func (run *teller) outcome() Outcome {
	switch {
	case len(run.failures) > 0:
		return OutcomeFail
	case len(run.stillRetrying()) > 0, len(run.leftOpen()) > 0:
		return OutcomeUnknown
	case run.network.Kind == Socket && (run.nodes() != 1 || !run.alone()):
		return OutcomeFallback
	case run.worse():
		return OutcomeDegraded
	case run.neverBegan():
		return OutcomeUnknown
	case run.recognised():
		return OutcomeOK
	}
	return OutcomeUnknown
}

func (run *teller) worse() bool {
	return len(run.degradations()) > 0 || run.gpuDirect == GPUDirectPartial
}

// recognised reports whether the log is of a training or of NCCL at all.
func (run *facts) recognised() bool {
	return len(run.log.Ranks) > 0 || run.log.Trained >= nccllog.Trained || run.log.Tests.Ranks > 0 ||
		run.log.Version != "" || run.log.Tests.Finished.Text != ""
}

// leftOpen returns what is unexplained. In a run over TCP what was said before NCCL chose TCP is the reason, and words
// of a failure without a level count less than the fallback.
func (run *teller) leftOpen() []event.Event {
	return slices.DeleteFunc(run.unexplained(), func(e event.Event) bool {
		weak := e.Kind == event.OFINoProvider || e.Kind == event.FailureWords
		chosen := e.Rank >= 0 && run.log.Ranks[e.Rank].ChosenAt > e.Seq
		return run.network.Kind == Socket && (weak || chosen)
	})
}

// unexplained returns warnings and errors of no known kind, unless later lines show that the run went on, and ranks
// that RAS or Horovod found apart, which may be a moment's difference or a hang.
func (run *sequence) unexplained() []event.Event {
	var found []event.Event
	for _, e := range run.log.Events {
		if !run.finishedAfter(e) && !run.gatheredAfter(e) && run.isUnexplained(e) {
			found = append(found, e)
		}
	}
	return found
}

func (run *sequence) isUnexplained(e event.Event) bool {
	switch e.Kind {
	case event.Warning:
		return !e.Info
	case event.RanksDiffer:
		return true
	case event.AsyncEvent:
		return e.Async.Type == codes.UnknownEvent && !e.Async.Fatal
	case event.Trail:
		return !run.connectedAfter(e)
	case event.Complaint, event.Exception, event.Recoverable:
		return !run.progressed(e)
	case event.Restarted: // before Slurm ends a job, it may train on for a while
		return !run.progressed(e) || e.Signature == "requeued"
	case event.FailureWords, event.Stalled:
		return run.isLast(e)
	case event.Consequence:
		return run.isLast(e) && !run.wentOn(e) && !run.destroyed()
	case event.OFINoProvider:
		return !run.choseNetwork()
	default:
	}
	return false
}

// isLast reports that an event is among the last lines of its file, and that no step of a training follows.
func (run *sequence) isLast(e event.Event) bool { return run.nearEnd(e) && !run.progressed(e) }

// connectedAfter reports that a rank went on after the steps of an error.
func (run *sequence) connectedAfter(e event.Event) bool {
	connected := e.Rank >= 0 && run.log.Ranks[e.Rank].ConnectedAt > e.Seq
	return connected || run.wentOn(e) || run.progressed(e) || run.has(event.NoSHARP)
}

// neverBegan reports that several ranks began to set up communicators, and that no line shows that one was complete or
// used. The log of a single rank may be an excerpt.
func (run *sequence) neverBegan() bool {
	began := 0
	for _, r := range run.log.Ranks {
		if r.Complete > 0 || r.Connected || r.Destroyed {
			return false
		}
		if r.Started {
			began++
		}
	}
	for _, end := range run.log.Ends {
		if end.Progress > 0 {
			return false
		}
	}
	return began > 1 && run.log.Tests.Finished.Text == ""
}

func (run *facts) choseNetwork() bool {
	return slices.ContainsFunc(run.log.Ranks, func(r nccllog.Rank) bool { return r.Network != "" })
}

// stillRetrying returns the connections that were tried again, of ranks of which no line shows that they connected.
func (run *sequence) stillRetrying() []event.Event {
	var found []event.Event
	for _, e := range run.log.Events {
		isRetry := e.Info && (e.Kind == event.ConnectFailed || e.Kind == event.VerbsFailed)
		if isRetry && e.Rank >= 0 && !run.log.Ranks[e.Rank].Connected && !run.wentOn(e) && !run.finishedAfter(e) {
			found = append(found, e)
		}
	}
	return found
}

func (run *teller) summary(r Run) string {
	var parts []string
	if r.Ranks > 0 {
		what := words.Count(r.Ranks, "rank")
		if r.Nodes > 0 {
			what += " on " + words.Count(r.Nodes, "node")
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
	case r.Outcome == OutcomeUnknown && len(r.Causes) > 0:
		text += ". The outcome is unknown: " + r.Causes[0].Summary
	case len(r.Causes) > 0:
		text += fmt.Sprintf(". %s: %s", outcomeWord(r.Outcome), r.Causes[0].Summary)
	case r.Outcome == OutcomeDegraded:
		text += ". " + outcomeWord(r.Outcome) + ": " + r.GPUReason
	case r.Outcome == OutcomeOK && len(run.survived) > 0:
		text += ". It went on after each fault that a line reports"
	case r.Outcome == OutcomeOK:
		text += ". No line reports a fault"
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

// victims returns the ranks that failed because another did.
func (run *sequence) victims(causes []Cause) []Victim {
	victims := []Victim{}
	if len(run.failures) == 0 {
		return victims
	}
	of := "a failure that the log does not show"
	if run.first != nil {
		of = run.who(*run.first) + ": " + what(*run.first)
	} else if len(causes) > 0 {
		of = string(causes[0].ID)
	}
	seen := map[string]int{}
	for _, e := range run.failures {
		if !run.isVictim(e) {
			continue
		}
		key := what(e) + "\x00" + run.who(e)
		if _, ok := seen[key]; ok || len(victims) >= mostVictims {
			continue
		}
		seen[key] = len(victims)
		victims = append(victims, Victim{Who: run.who(e), What: what(e), Of: of, Evidence: evidenceOf(e.Quote)})
	}
	return victims
}

// mostVictims bounds the list: of thousands of ranks all but one are victims.
const mostVictims = 16

// isVictim reports whether a failure follows from the first one: by its class, or because it reports a rank that had
// failed before.
func (run *sequence) isVictim(e event.Event) bool {
	if run.first == nil || e.Seq == run.first.Seq || isOwnException(e) {
		return false
	}
	switch e.Kind {
	case event.TimeLimit:
		return false
	// of the rank that failed they are its echo
	case event.Result, event.Exception, event.Exit, event.Consequence:
		if e.Rank >= 0 && e.Rank == run.first.Rank || e.Number >= 0 && e.Number == run.first.Number {
			return false
		}
	default:
	}
	if classOf(e) == event.Followed {
		return true
	}
	return classOf(e) == event.Remote && classOf(*run.first) != event.Remote
}

// what describes an event in a few words.
func what(e event.Event) string {
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
	text := cmp.Or(event.SignatureOf(e).What, "failure")
	if e.Socket != nil && e.Socket.Error != "" {
		text += ": " + e.Socket.Error
	}
	return text + named(e)
}

func named(e event.Event) string {
	switch e.Kind {
	case event.CUDAFailed, event.CUDAError, event.Exception:
		if e.Name != "" {
			return ": " + e.Name
		}
	default:
	}
	return ""
}
