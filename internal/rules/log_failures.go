package rules

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/railhead/railhead/internal/nccllog"
)

// class says how a kind of event stands to the failure of a run.
type class int

const (
	noFault     class = iota
	soft              // a fault that a run can survive
	own               // a failure of its own: it follows from nothing else
	remote            // a failure that may come from another rank that failed before
	consequence       // what follows from a failure: a victim
)

// classOf gives the class of an event.
func classOf(e nccllog.Event) class {
	if e.Info && e.Kind != nccllog.GDRCopyFailed {
		return noFault
	}
	switch e.Kind {
	case nccllog.VerbsFailed, nccllog.ShmFailed, nccllog.CUDAFailed, nccllog.DuplicateGPU, nccllog.VersionsDiffer, nccllog.NVLSFailed,
		nccllog.PeerAccess, nccllog.OFIRegister, nccllog.GDRCopyFailed, nccllog.LayersDiffer, nccllog.GIDUnreadable, nccllog.NoInterface,
		nccllog.NoNetworkLeft, nccllog.WrongSocket, nccllog.Truncated, nccllog.SizesDiffer, nccllog.OutOfMemory, nccllog.CUDAError, nccllog.CUDAInstall,
		nccllog.OOMKill, nccllog.Xid:
		return own
	case nccllog.AsyncEvent:
		return classOfAsync(e.Async)
	case nccllog.CannotOpen, nccllog.OFIFailed, nccllog.OFINoProvider, nccllog.Warning:
		return soft
	case nccllog.BadCompletion:
		if e.Completion.Status == statusFlushed {
			return consequence
		}
		return remote
	case nccllog.ConnectFailed, nccllog.SocketFailed, nccllog.Rendezvous, nccllog.OFICompletion:
		return remote
	case nccllog.SocketClosed, nccllog.Watchdog, nccllog.Result, nccllog.Exit, nccllog.Aborted, nccllog.Exception, nccllog.Consequence, nccllog.TimeLimit:
		return consequence
	case nccllog.NoDevice, nccllog.NoVerbs, nccllog.ProviderFailed, nccllog.DevicesDiffer, nccllog.Stranger, nccllog.Finished:
	}
	return noFault
}

// classOfAsync: a queue pair or a device that is broken ends the run, a port that goes down need not.
func classOfAsync(a *nccllog.Async) class {
	switch {
	case strings.Contains(a.Event, "port active"), strings.Contains(a.Event, "reregist"), strings.Contains(a.Event, "LID change"), strings.Contains(a.Event, "SM change"), strings.Contains(a.Event, "communication established"), strings.Contains(a.Event, "last WQE"):
		return noFault
	case a.Fatal, strings.Contains(a.Event, "fatal"), strings.Contains(a.Event, "invalid request"), strings.Contains(a.Event, "access"), strings.Contains(a.Event, "CQ error"):
		return own
	}
	return soft
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

// judgeFailures finds what ended the run, and the failure that came first. A machine that failed first is the cause of what
// its peers report; a peer that was flushed, closed or timed out is a victim, whoever speaks first in the log.
func (v *view) judgeFailures() {
	for _, e := range v.log.Events {
		if classOf(e) > soft && !v.overcome(e) || classOf(e) == soft && v.lastWord(e) {
			v.failures = append(v.failures, e)
		}
	}
	if v.onlyTeardown() {
		v.failures = nil
	}
	best := -1
	for i, e := range v.failures {
		if classOf(e) == consequence {
			continue
		}
		if best < 0 || v.before(e, v.failures[best]) {
			best = i
		}
	}
	if best < 0 {
		return
	}
	e := v.failures[best]
	v.failures = append([]nccllog.Event{e}, slices.Delete(v.failures, best, best+1)...)
	v.first = &v.failures[0]
}

// overcome reports that the run went on after a failure.
func (v *view) overcome(e nccllog.Event) bool {
	if end := v.log.Tests.Finished; end.Text != "" && end.At.File == e.At.File && end.At.Line > e.At.Line {
		return true
	}
	switch e.Kind {
	case nccllog.ConnectFailed, nccllog.NoInterface, nccllog.SocketFailed, nccllog.Rendezvous, nccllog.NVLSFailed, nccllog.ShmFailed:
		return v.wentOn(e)
	case nccllog.GDRCopyFailed:
		return !e.Info && e.Name != "OFI" && v.wentOn(e) || v.wentOn(e)
	case nccllog.Exception:
		return !v.endedBy(e)
	case nccllog.Exit:
		return e.Code == 0
	default:
	}
	return false
}

// wentOn reports that the same process, or one of the same host, set up a communicator after the event.
func (v *view) wentOn(e nccllog.Event) bool {
	for i, r := range v.log.Ranks {
		if r.CompleteAt > e.Seq && (e.Rank == i || e.Rank < 0) {
			return true
		}
	}
	return false
}

// endedBy reports that an exception ended its program: it is near the end of its file, or a process ended with an error.
func (v *view) endedBy(e nccllog.Event) bool {
	const near = 60
	if last, ok := v.log.Ends[e.At.File]; ok && last-e.At.Line <= near {
		return true
	}
	return slices.ContainsFunc(v.log.Events, func(o nccllog.Event) bool {
		return (o.Kind == nccllog.Exit || o.Kind == nccllog.Aborted) && o.Seq > e.Seq
	})
}

// lastWord reports that nothing speaks of a run that went on after a fault that it could survive.
func (v *view) lastWord(e nccllog.Event) bool {
	switch {
	case v.becameError(e):
		return true
	case e.Kind == nccllog.Warning || v.log.Tests.Finished.Text != "":
		return false
	case e.Kind != nccllog.AsyncEvent && len(v.events(nccllog.NoDevice, nccllog.NoVerbs)) > 0: // TCP is used then
		return false
	}
	const near = 20
	last, ok := v.log.Ends[e.At.File]
	if ok && last-e.At.Line > near {
		return false
	}
	for _, r := range v.log.Ranks {
		if r.Complete > 0 || r.Connected || (r.Network != "" || len(r.HCAs) > 0) && r.Last > e.Seq {
			return false
		}
	}
	return true
}

// becameError reports that a warning became an error: the trail of its way up follows, and its process did not go on.
func (v *view) becameError(e nccllog.Event) bool {
	const near = 30
	if e.Kind != nccllog.Warning && e.Kind != nccllog.OFIFailed || e.Rank < 0 {
		return false
	}
	r := v.log.Ranks[e.Rank]
	return r.TrailAt > e.Seq && r.TrailAt-e.Seq < near && !v.wentOn(e) && r.Last-r.TrailAt < near
}

// onlyTeardown reports that all there is are peers that closed their connections while communicators were taken down, or that
// were strangers: port scanners close what they opened.
func (v *view) onlyTeardown() bool {
	if !slices.ContainsFunc(v.failures, func(e nccllog.Event) bool { return e.Kind != nccllog.Consequence }) {
		return true
	}
	destroyed := slices.ContainsFunc(v.log.Ranks, func(r nccllog.Rank) bool { return r.Destroyed }) || len(v.events(nccllog.Stranger)) > 0
	for _, e := range v.failures {
		if e.Kind != nccllog.SocketClosed && e.Kind != nccllog.Consequence {
			return false
		}
	}
	return destroyed
}

// skew is how far the clocks of two hosts may differ for their times to be compared.
const skew = 2 * time.Second

// before reports that one failure came before another, or is more likely the cause of it. Inside a rank the order of the lines
// is certain. Across ranks it is the causality that counts, then the times where clocks allow, then the order of the lines of
// one file.
func (v *view) before(a, b nccllog.Event) bool {
	switch {
	case v.superseded(b, a):
		return true
	case v.superseded(a, b):
		return false
	case v.explains(a, b):
		return true
	case v.explains(b, a):
		return false
	}
	sameRank := a.Rank >= 0 && a.Rank == b.Rank
	if !sameRank {
		if d, ok := apart(a, b); ok && math.Abs(d.Seconds()) > skew.Seconds() {
			return d > 0
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

// apart is how much later the second of two events is.
func apart(a, b nccllog.Event) (time.Duration, bool) {
	if a.Time.IsZero() || b.Time.IsZero() || (a.Time.Year() == 0) != (b.Time.Year() == 0) {
		return 0, false
	}
	return b.Time.Sub(a.Time), true
}

// explains reports that an own failure of one host explains what another rank says of its peer there.
func (v *view) explains(a, b nccllog.Event) bool {
	if classOf(a) != own || classOf(b) != remote || v.hostOf(a) == "" || v.hostOf(a) == v.hostOf(b) && a.Rank == b.Rank {
		return false
	}
	peer := ""
	switch {
	case b.Completion != nil:
		peer = b.Completion.Peer
	case b.Socket != nil:
		peer = b.Socket.Peer
	}
	if peer == "" || v.peerHost(peer) != v.hostOf(a) {
		return false
	}
	d, ok := apart(a, b)
	return !ok || d > -skew
}

// superseded reports that a failure to find an interface was of an attempt before the one that got further.
func (v *view) superseded(a, b nccllog.Event) bool {
	return a.Kind == nccllog.NoInterface && (b.Kind == nccllog.ConnectFailed || b.Kind == nccllog.SocketClosed) && a.Rank == b.Rank && a.Seq < b.Seq
}
