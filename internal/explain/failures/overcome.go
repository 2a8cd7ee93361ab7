package failures

import (
	"slices"

	"github.com/railhead/railhead/internal/explain/facts"
	"github.com/railhead/railhead/internal/nccllog/event"
)

// failovers returns the moves of connections from one device to another.
func failovers(run *facts.Run) []event.Event {
	var moves []event.Event
	for _, e := range run.Log.Events {
		if e.Kind == event.FailedOver {
			moves = append(moves, e)
		}
	}
	return moves
}

// failedOver reports whether one of the moves belongs to the connections of a completion's device.
func failedOver(e event.Event, moves []event.Event) bool {
	const near = 10 // lines of any rank
	return e.Completion != nil && slices.ContainsFunc(moves, func(o event.Event) bool {
		return o.Rank == e.Rank && o.Seq > e.Seq && o.Seq-e.Seq <= near
	})
}

// DidWithoutTopology reports whether a run went on after a warning about the topology: its process set up a
// communicator later, or nothing else was wrong for many lines.
func DidWithoutTopology(run *facts.Run, e event.Event) bool {
	switch {
	case e.Kind != event.TopologyUnread:
		return false
	case run.WentOn(e), run.FinishedAfter(e):
		return true
	}
	const many = 60
	return !run.NearEnd(e) && !run.LeadsToTrail(e) &&
		!slices.ContainsFunc(run.Log.Events, func(o event.Event) bool {
			return o.Kind != e.Kind && o.Class() > event.NoFault && o.At.File == e.At.File && o.Seq > e.Seq &&
				o.At.Line-e.At.Line <= many
		})
}

// overcome reports whether the run went on after a failure.
func overcome(run *facts.Run, e event.Event) bool {
	switch {
	case e.Kind == event.WrongResults:
		return false
	case run.FinishedAfter(e), restartedAfter(run, e), gatheredAfter(run, e):
		return true
	}
	switch e.Kind {
	case event.SocketClosed:
		return e.Signature == "store-warning" && run.Progressed(e)
	case event.Trail:
		return trailEnded(run, e)
	case event.ConnectFailed, event.NoInterface, event.SocketFailed, event.Rendezvous, event.NVLSFailed,
		event.ShmFailed, event.GDRCopyFailed:
		return run.WentOn(e)
	case event.Exception, event.Recoverable:
		return run.Progressed(e) || run.WroteOn(e) || !endedBy(run, e)
	case event.Exit:
		return e.Code == 0 || run.Advanced(e)
	default:
	}
	return false
}

// restartedAfter reports whether a launcher or the scheduler started the job again, and the job has trained since.
func restartedAfter(run *facts.Run, e event.Event) bool {
	return run.Progressed(e) && slices.ContainsFunc(run.Events(event.Restarted), func(o event.Event) bool {
		return o.At.File == e.At.File && o.Seq >= e.Seq && run.Progressed(o)
	})
}

// gatheredAfter reports whether the rendezvous of a launcher was complete after its socket reported an error. If the
// port is in use, or no process listens yet, the launcher joins the process that listens.
func gatheredAfter(run *facts.Run, e event.Event) bool {
	atRendezvous := e.Kind == event.Rendezvous || e.Signature == "rendezvous-port"
	return atRendezvous && e.Detail == event.AtSocket &&
		slices.ContainsFunc(run.Events(event.Gathered), func(o event.Event) bool {
			return o.At.File == e.At.File && o.Seq > e.Seq
		})
}

// trailEnded reports whether a rank went on after the steps of an error, or NCCL goes on without SHARP.
func trailEnded(run *facts.Run, e event.Event) bool {
	const near = 3 // lines of any rank
	if e.Rank < 0 || run.WentOn(e) || run.Has(event.NoSHARP) {
		return true
	}
	r := run.Log.Ranks[e.Rank]
	return r.Connected || r.Last-r.TrailAt > near || run.OnlyServices
}

// endedBy reports whether an exception ended its program: it is near the end of its file, or a process ended with an
// error.
func endedBy(run *facts.Run, e event.Event) bool {
	return run.NearEnd(e) || slices.ContainsFunc(run.Log.Events, func(o event.Event) bool {
		return (o.Kind == event.Exit || o.Kind == event.Aborted || o.Kind == event.Restarted) && o.Seq > e.Seq
	})
}

// IsFatal reports whether no line shows that the run went on after a fault that it could survive.
func IsFatal(run *facts.Run, e event.Event) bool {
	if becameError(run, e) {
		return true
	}
	switch e.Kind {
	case event.Warning, event.Complaint, event.Reason, event.FailureWords, event.FailedOver, event.RanksDiffer,
		event.Stalled, event.OFINoProvider: // NCCL has networks of its own
		return false
	case event.AsyncEvent:
	default:
		if run.Has(event.NoDevice, event.NoVerbs) { // TCP is used then
			return false
		}
	}
	if run.Log.Finished.Text != "" {
		return false
	}
	const near = 20
	end, ok := run.Log.Ends[e.At.File]
	if ok && end.Line-e.At.Line > near {
		return false
	}
	for _, r := range run.Log.Ranks {
		if r.Complete > 0 || r.Connected || (r.Network != "" || len(r.HCAs) > 0) && r.Last > e.Seq {
			return false
		}
	}
	return true
}

// becameError reports whether a warning became an error.
func becameError(run *facts.Run, e event.Event) bool {
	return (e.Kind == event.Warning || e.Kind == event.OFIFailed) && run.LeadsToTrail(e)
}
