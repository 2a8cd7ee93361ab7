package facts

import (
	"slices"

	"github.com/railhead/railhead/internal/nccllog"
	"github.com/railhead/railhead/internal/nccllog/event"
)

// AfterGoal reports whether an event is of the end of a run that succeeded.
func (run *Run) AfterGoal(e event.Event) bool {
	return run.endedWell && e.IsTeardown() && run.FinishedBefore(e)
}

// FailedAfterGoal reports whether the program said that it succeeded, and a process failed then.
func FailedAfterGoal(run *Run, e event.Event) bool { return !run.endedWell && run.FinishedBefore(e) }

// endedWell reports whether the program said that it succeeded, and no line after that is of a process that failed:
// then whatever processes report of one another is of their end.
func endedWell(run *Run) bool {
	return run.Log.Finished.Text != "" && !slices.ContainsFunc(run.Log.Events, func(e event.Event) bool {
		failed := e.Class() > event.Soft || e.Kind == event.Complaint
		return failed && !e.IsTeardown() && run.FinishedBefore(e)
	})
}

// onlyServices reports whether all that is wrong in a log are the steps of errors with which NCCL's service threads
// give up their sockets when a program exits that has trained and does not destroy its communicators.
func onlyServices(run *Run) bool {
	const internalError = 3 // ncclInternalError: the socket was given up here, and not by a peer
	steps := 0
	for _, e := range run.Log.Events {
		switch {
		case e.Kind == event.Trail && e.Detail == event.AtSocket && e.Code == internalError:
			steps++
		case e.Class() > event.NoFault:
			return false
		}
	}
	return steps > 0 && run.Log.Trained >= nccllog.Trained && run.Destroyed()
}
