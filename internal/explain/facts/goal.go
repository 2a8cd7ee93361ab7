package facts

import (
	"slices"

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
