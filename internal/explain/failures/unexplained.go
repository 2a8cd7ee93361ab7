package failures

import (
	"slices"

	"github.com/railhead/railhead/internal/explain/facts"
	"github.com/railhead/railhead/internal/nccllog"
	"github.com/railhead/railhead/internal/nccllog/codes"
	"github.com/railhead/railhead/internal/nccllog/event"
)

// Unexplained returns warnings and errors of no known kind, unless later lines show that the run went on, and ranks
// that RAS or Horovod found apart, which may be a moment's difference or a hang.
func Unexplained(run *facts.Run) []event.Event {
	var found []event.Event
	for _, e := range run.Log.Events {
		if !run.FinishedAfter(e) && !run.AfterGoal(e) && !gatheredAfter(run, e) && isUnexplained(run, e) {
			found = append(found, e)
		}
	}
	return found
}

func isUnexplained(run *facts.Run, e event.Event) bool {
	switch e.Kind {
	case event.Warning:
		return !e.Info
	case event.RanksDiffer:
		return true
	case event.AsyncEvent:
		return e.Async.Type == codes.UnknownEvent && !e.Async.Fatal
	case event.Trail:
		return !connectedAfter(run, e)
	case event.Complaint, event.Reason, event.Exception, event.Recoverable:
		return !wentPast(run, e)
	case event.Restarted: // before Slurm ends a job, it may train on for a while
		return !run.Progressed(e) || e.Signature == "requeued"
	case event.FailureWords, event.Stalled:
		return run.IsLast(e)
	case event.Consequence:
		return run.IsLast(e) && !run.WentOn(e) && !run.Destroyed()
	case event.OFINoProvider:
		return !choseNetwork(run)
	default:
	}
	return false
}

// wentPast reports whether later lines show that an error of the program ended nothing.
func wentPast(run *facts.Run, e event.Event) bool {
	return run.Progressed(e) || run.WroteOn(e) || run.IsLongAgo(e) && !endedBy(run, e)
}

// connectedAfter reports whether a rank went on after the steps of an error.
func connectedAfter(run *facts.Run, e event.Event) bool {
	connected := e.Rank >= 0 && run.Log.Ranks[e.Rank].ConnectedAt > e.Seq
	return connected || run.WentOn(e) || run.Progressed(e) || run.Has(event.NoSHARP) || run.OnlyServices
}

// NeverBegan reports whether several ranks began to set up communicators, and no line shows that one was complete or
// used. The log of a single rank may be an excerpt.
func NeverBegan(run *facts.Run) bool {
	began := 0
	for _, r := range run.Log.Ranks {
		if r.Complete > 0 || r.Connected || r.Destroyed {
			return false
		}
		if r.Started {
			began++
		}
	}
	for _, end := range run.Log.Ends {
		if end.Progress > 0 {
			return false
		}
	}
	return began > 1 && run.Log.Finished.Text == ""
}

func choseNetwork(run *facts.Run) bool {
	return slices.ContainsFunc(run.Log.Ranks, func(r nccllog.Rank) bool { return r.Network != "" })
}

// StillRetrying returns the connections that were tried again by ranks that never connected, as far as the log shows.
func StillRetrying(run *facts.Run) []event.Event {
	var found []event.Event
	for _, e := range run.Log.Events {
		isRetry := e.Info && (e.Kind == event.ConnectFailed || e.Kind == event.VerbsFailed)
		if isRetry && e.Rank >= 0 && !run.Log.Ranks[e.Rank].Connected && !run.WentOn(e) && !run.FinishedAfter(e) &&
			!run.AfterGoal(e) {
			found = append(found, e)
		}
	}
	return found
}
