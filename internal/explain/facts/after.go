package facts

import (
	"slices"
	"time"

	"github.com/railhead/railhead/internal/nccllog"
	"github.com/railhead/railhead/internal/nccllog/event"
)

// FinishedAfter reports whether the file says after the event that the program succeeded. A script may say so after
// any end of a process.
func (run *Run) FinishedAfter(e event.Event) bool {
	end := run.Log.Finished
	return end.Text != "" && end.At.File == e.At.File && end.At.Line > e.At.Line &&
		(end.Detail != event.Stated || e.IsTeardown())
}

// FinishedBefore reports whether the program had said that it succeeded when an event came, and has counted no steps
// since. A file in which it does not say so may be of another rank: of that one the last lines count.
func (run *Run) FinishedBefore(e event.Event) bool {
	end := run.Log.Finished
	switch {
	case end.Text == "", end.Detail == event.Partial:
		return false
	case end.At.File == e.At.File:
		return end.At.Line < e.At.Line && run.Log.Ends[e.At.File].Progress < end.At.Line
	}
	const skew = 2 * time.Second // of the clocks of two hosts
	sooner := !e.Time.IsZero() && !end.Time.IsZero() && end.Time.Sub(e.Time) > skew
	return run.NearEnd(e) && !run.Progressed(e) && !sooner
}

// WentOn reports whether the same process, or any if the event names none, set up a communicator after the event.
func (run *Run) WentOn(e event.Event) bool {
	if e.Rank >= 0 {
		return run.Log.Ranks[e.Rank].CompleteAt > e.Seq
	}
	return slices.ContainsFunc(run.Log.Ranks, func(r nccllog.Rank) bool { return r.CompleteAt > e.Seq })
}

// NearEnd reports whether an event is among the last lines of its file.
func (run *Run) NearEnd(e event.Event) bool {
	const near = 60
	end, ok := run.Log.Ends[e.At.File]
	return ok && end.Own-e.At.Line <= near
}

// Progressed reports whether the training counted its steps after an event, in the last lines of the same file.
func (run *Run) Progressed(e event.Event) bool {
	return run.Log.Ends[e.At.File].Progress > e.At.Line
}

// Advanced reports whether the training counted on long after an event: ranks without a process that ended do not get
// far, but what they had buffered may be printed late.
func (run *Run) Advanced(e event.Event) bool {
	const many, long = 200, time.Minute // lines
	end := run.Log.Ends[e.At.File]
	since, known := end.SinceStep(e.Time)
	return end.Advanced > e.At.Line && (end.Advanced-e.At.Line > many || known && -since > long)
}

// WroteOn reports whether the process that logged an event is known to have gone on: it has a label of its own, and
// wrote more lines than a process does that ends.
func (run *Run) WroteOn(e event.Event) bool {
	return run.Log.Ends[e.At.File].Writers[e.Label] > e.At.Line
}

// IsLongAgo reports whether the program wrote so much after an event that this ended nothing.
func (run *Run) IsLongAgo(e event.Event) bool {
	const many = 400
	end, ok := run.Log.Ends[e.At.File]
	return ok && end.Own-e.At.Line > many
}

// LeadsToTrail reports whether the trail of an error on its way up follows and the process did not go on.
func (run *Run) LeadsToTrail(e event.Event) bool {
	const near = 30
	if e.Rank < 0 {
		return false
	}
	r := run.Log.Ranks[e.Rank]
	return r.TrailAt > e.Seq && r.TrailAt-e.Seq < near && !run.WentOn(e) && r.Last-r.TrailAt < near
}

// IsLast reports whether an event is among the last lines of its file and no step of a training follows.
func (run *Run) IsLast(e event.Event) bool { return run.NearEnd(e) && !run.Progressed(e) }
