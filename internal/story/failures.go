package story

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/railhead/railhead/internal/nccllog"
	"github.com/railhead/railhead/internal/nccllog/codes"
	"github.com/railhead/railhead/internal/nccllog/event"
)

// classOf returns the class of an event: that of its signature, unless its fields decide.
func classOf(e event.Event) event.Class {
	if e.Info && e.Kind != event.GDRCopyFailed && e.Kind != event.FailedOver {
		return event.NoFault
	}
	class := event.SignatureOf(e).Class
	switch {
	case class != event.ByItsFields:
		return class
	case e.Async != nil:
		return classOfAsync(e.Async)
	case e.Completion != nil && e.Completion.Status == statusFlushed:
		return event.Followed
	}
	return event.Remote
}

// classOfAsync: a queue pair or a device that is broken ends the run, a port that goes down need not.
func classOfAsync(a *event.Async) event.Class {
	if a.Fatal {
		return event.Own
	}
	switch a.Type {
	case codes.CQError, codes.QPFatal, codes.QPRequestError, codes.QPAccessError, codes.DeviceFatal, codes.SRQError,
		codes.WQFatal:
		return event.Own
	case codes.PortError, codes.GIDChange, codes.PKeyChange, codes.PathMigrationError, codes.UnknownEvent:
		return event.Soft
	default:
		return event.NoFault
	}
}

// The statuses of completions that stand for themselves (ibv_wc_status).
const (
	statusLength   = 1
	statusQPOp     = 2
	statusProt     = 4
	statusFlushed  = 5
	statusLocalAcc = 8
	statusRemInv   = 9
	statusRemAcc   = 10
	statusRemOp    = 11
	statusRetry    = 12
	statusRNR      = 13
)

// judgeFailures finds the events that ended the run, and the one that came first. A rank that failed by itself comes
// before the peers that report it; flushed, closed and timed-out peers are victims, wherever they stand in the log.
func (run *sequence) judgeFailures() {
	moves := run.failovers()
	for _, e := range run.log.Events {
		fatal := classOf(e) > event.Soft && !run.overcome(e) && !failedOver(e, moves) && !run.didWithoutTopology(e)
		switch {
		case fatal, classOf(e) == event.Soft && run.lastWord(e):
			run.failures = append(run.failures, e)
		case classOf(e) > event.Soft:
			run.survived = append(run.survived, e.Quote)
		}
	}
	if run.onlyTeardown() {
		run.failures = nil
	}
	run.addUncaught()
	run.findOrigins()
	best := -1
	for i, e := range run.failures {
		if classOf(e) == event.Followed && !run.origins[e.Seq] {
			continue
		}
		if best < 0 || run.before(e, run.failures[best]) {
			best = i
		}
	}
	if best < 0 {
		return
	}
	e := run.failures[best]
	run.failures = append([]event.Event{e}, slices.Delete(run.failures, best, best+1)...)
	run.first = &run.failures[0]
}

// failovers returns the moves of connections from one device to another.
func (run *sequence) failovers() []event.Event {
	var moves []event.Event
	for _, e := range run.log.Events {
		if e.Kind == event.FailedOver {
			moves = append(moves, e)
		}
	}
	return moves
}

// failedOver reports that one of the moves is that of the connections of a completion's device.
func failedOver(e event.Event, moves []event.Event) bool {
	const near = 10 // lines of any rank
	return e.Completion != nil && slices.ContainsFunc(moves, func(o event.Event) bool {
		return o.Rank == e.Rank && o.Seq > e.Seq && o.Seq-e.Seq <= near
	})
}

// didWithoutTopology reports that a run went on after a warning about the topology: its process set up a communicator
// later, or nothing else was wrong for many lines.
func (run *sequence) didWithoutTopology(e event.Event) bool {
	switch {
	case e.Kind != event.TopologyUnread:
		return false
	case run.wentOn(e), run.finishedAfter(e):
		return true
	}
	const many = 60
	return !run.nearEnd(e) && !run.leadsToTrail(e) &&
		!slices.ContainsFunc(run.log.Events, func(o event.Event) bool {
			return o.Kind != e.Kind && classOf(o) > event.NoFault && o.At.File == e.At.File && o.Seq > e.Seq &&
				o.At.Line-e.At.Line <= many
		})
}

// overcome reports that the run went on after a failure.
func (run *sequence) overcome(e event.Event) bool {
	switch {
	case e.Kind == event.WrongResults:
		return false
	case run.finishedAfter(e), run.restartedAfter(e), run.gatheredAfter(e):
		return true
	}
	switch e.Kind {
	case event.SocketClosed:
		return e.Signature == "store-warning" && run.progressed(e)
	case event.Trail:
		return run.trailEnded(e)
	case event.ConnectFailed, event.NoInterface, event.SocketFailed, event.Rendezvous, event.NVLSFailed,
		event.ShmFailed, event.GDRCopyFailed:
		return run.wentOn(e)
	case event.Exception, event.Recoverable:
		return run.progressed(e) || !run.endedBy(e)
	case event.Exit:
		return e.Code == 0
	default:
	}
	return false
}

// restartedAfter reports that a launcher or the scheduler started the job again, and that it trains since.
func (run *sequence) restartedAfter(e event.Event) bool {
	return run.progressed(e) && slices.ContainsFunc(run.kinds[event.Restarted], func(i int) bool {
		o := run.log.Events[i]
		return o.At.File == e.At.File && o.Seq >= e.Seq && run.progressed(o)
	})
}

// gatheredAfter reports that the rendezvous of a launcher was complete after its socket reported an error: where the
// port was in use, or no process listened yet, it joins the one that listens.
func (run *sequence) gatheredAfter(e event.Event) bool {
	atRendezvous := e.Kind == event.Rendezvous || e.Signature == "rendezvous-port"
	return atRendezvous && strings.Contains(e.Text, " socket.cpp:") &&
		slices.ContainsFunc(run.kinds[event.Gathered], func(i int) bool {
			o := run.log.Events[i]
			return o.At.File == e.At.File && o.Seq > e.Seq
		})
}

// finishedAfter reports that the same file says later that the program succeeded.
func (run *sequence) finishedAfter(e event.Event) bool {
	end := run.log.Tests.Finished
	return end.Text != "" && end.At.File == e.At.File && end.At.Line > e.At.Line
}

// trailEnded reports that a rank went on after the steps of an error, or that NCCL goes on without SHARP.
func (run *sequence) trailEnded(e event.Event) bool {
	const near = 3 // lines of any rank
	if e.Rank < 0 || run.wentOn(e) || run.has(event.NoSHARP) {
		return true
	}
	r := run.log.Ranks[e.Rank]
	return r.Connected || r.Last-r.TrailAt > near
}

// wentOn reports that the same process, or any if the event names none, set up a communicator after the event.
func (run *sequence) wentOn(e event.Event) bool {
	if e.Rank >= 0 {
		return run.log.Ranks[e.Rank].CompleteAt > e.Seq
	}
	return slices.ContainsFunc(run.log.Ranks, func(r nccllog.Rank) bool { return r.CompleteAt > e.Seq })
}

// endedBy reports that an exception ended its program: it is near the end of its file, or a process ended with an
// error.
func (run *sequence) endedBy(e event.Event) bool {
	return run.nearEnd(e) || slices.ContainsFunc(run.log.Events, func(o event.Event) bool {
		return (o.Kind == event.Exit || o.Kind == event.Aborted || o.Kind == event.Restarted) && o.Seq > e.Seq
	})
}

// nearEnd reports that an event is among the last lines of its file.
func (run *sequence) nearEnd(e event.Event) bool {
	const near = 60
	end, ok := run.log.Ends[e.At.File]
	return ok && end.Own-e.At.Line <= near
}

// progressed reports that the training counted its steps after an event, in the last lines of the same file.
func (run *sequence) progressed(e event.Event) bool {
	return run.log.Ends[e.At.File].Progress > e.At.Line
}

// lastWord reports that nothing speaks of a run that went on after a fault that it could survive.
func (run *sequence) lastWord(e event.Event) bool {
	if run.becameError(e) {
		return true
	}
	switch e.Kind {
	case event.Warning, event.Complaint, event.FailureWords, event.FailedOver, event.RanksDiffer,
		event.Stalled, event.OFINoProvider: // NCCL has networks of its own
		return false
	case event.AsyncEvent:
	default:
		if run.has(event.NoDevice, event.NoVerbs) { // TCP is used then
			return false
		}
	}
	if run.log.Tests.Finished.Text != "" {
		return false
	}
	const near = 20
	end, ok := run.log.Ends[e.At.File]
	if ok && end.Line-e.At.Line > near {
		return false
	}
	for _, r := range run.log.Ranks {
		if r.Complete > 0 || r.Connected || (r.Network != "" || len(r.HCAs) > 0) && r.Last > e.Seq {
			return false
		}
	}
	return true
}

// becameError reports that a warning became an error.
func (run *sequence) becameError(e event.Event) bool {
	return (e.Kind == event.Warning || e.Kind == event.OFIFailed) && run.leadsToTrail(e)
}

// leadsToTrail reports that the trail of an error on its way up follows, and that the process did not go on.
func (run *sequence) leadsToTrail(e event.Event) bool {
	const near = 30
	if e.Rank < 0 {
		return false
	}
	r := run.log.Ranks[e.Rank]
	return r.TrailAt > e.Seq && r.TrailAt-e.Seq < near && !run.wentOn(e) && r.Last-r.TrailAt < near
}

// onlyTeardown reports that the only failures are connections that peers closed while communicators were destroyed, or
// that port scanners closed. A rank that gives up before it was connected is none of these.
func (run *sequence) onlyTeardown() bool {
	neverUsed := slices.ContainsFunc(run.failures, func(e event.Event) bool {
		return run.leadsToTrail(e) && !run.log.Ranks[e.Rank].Connected
	})
	others := slices.ContainsFunc(run.failures, func(e event.Event) bool { return e.Kind != event.Consequence })
	switch {
	case neverUsed:
		return false
	case !others:
		return true
	}
	for _, e := range run.failures {
		if e.Kind != event.SocketClosed && e.Kind != event.Consequence {
			return false
		}
	}
	return run.destroyed() || run.has(event.Stranger)
}

// destroyed reports that the program destroyed or aborted a communicator.
func (run *facts) destroyed() bool {
	return slices.ContainsFunc(run.log.Ranks, func(r nccllog.Rank) bool { return r.Destroyed })
}

// skew is the clock difference between two hosts up to which their times are compared.
const skew = 2 * time.Second

// before reports that one failure came before another, or is more likely the cause of it. Inside a rank the order of
// the lines is certain. Across ranks it is the causality that counts, then the times where clocks allow, then the
// order of the lines of one file.
func (run *sequence) before(a, b event.Event) bool {
	switch {
	case run.superseded(b, a):
		return true
	case run.superseded(a, b):
		return false
	case run.explains(a, b):
		return true
	case run.explains(b, a):
		return false
	}
	sameRank := a.Rank >= 0 && a.Rank == b.Rank
	if !sameRank {
		if d, ok := apart(a, b); ok && math.Abs(d.Seconds()) > skew.Seconds() {
			return d > 0
		}
		if a.At.File != b.At.File && isEnd(a) != isEnd(b) {
			return isEnd(b) // it explains another failure
		}
		if classOf(a) != classOf(b) && a.At.File != b.At.File {
			return classOf(a) < classOf(b)
		}
		if a.At.File != b.At.File {
			return false // nothing tells: what was read first stays
		}
	}
	return a.Seq < b.Seq
}

// apart returns the time between two events.
func apart(a, b event.Event) (time.Duration, bool) {
	if a.Time.IsZero() || b.Time.IsZero() || (a.Time.Year() == 0) != (b.Time.Year() == 0) {
		return 0, false
	}
	return b.Time.Sub(a.Time), true
}

// explains reports whether one rank's own failure is the reason that another rank lost it.
func (run *sequence) explains(a, b event.Event) bool {
	if isEnd(a) {
		return run.origins[a.Seq] && run.endExplains(a, b)
	}
	if classOf(a) != event.Own || classOf(b) != event.Remote || run.hostOf(a) == "" ||
		run.hostOf(a) == run.hostOf(b) && a.Rank == b.Rank {
		return false
	}
	peer := peerOf(b)
	if peer == "" || run.peerHost(peer) != run.hostOf(a) {
		return false
	}
	d, ok := apart(a, b)
	return !ok || d > -skew
}

// superseded reports that a failure to find an interface was of an attempt before the one that got further.
func (run *sequence) superseded(a, b event.Event) bool {
	return a.Kind == event.NoInterface && (b.Kind == event.ConnectFailed || b.Kind == event.SocketClosed) &&
		a.Rank == b.Rank && a.Seq < b.Seq
}
