// Package failures finds the events that ended a run, the one that came first, and the ranks that failed because of it.
package failures

import (
	"slices"

	"github.com/railhead/railhead/internal/explain/facts"
	"github.com/railhead/railhead/internal/nccllog/event"
)

// Sequence has the failures of a run in their causal order.
type Sequence struct {
	Run      *facts.Run
	Failures []event.Event // that ended the run, or may have; the first one first
	First    *event.Event  // the first of them that does not follow from another
	Survived []event.Quote // lines of failures after which the run went on
	Origins  map[int]bool  // sequence numbers of the ends of processes that others report
	Waiting  map[int]bool  // numbers of the ranks that wait for others
}

// addUncaught adds to the failures of a run that failed the exceptions that ended a program, however much other
// processes logged after them.
func addUncaught(s *Sequence) {
	if len(s.Failures) == 0 {
		return
	}
	for _, e := range s.Run.Log.Events {
		if e.Detail != event.Uncaught || !overcome(s.Run, e) || s.Run.FinishedAfter(e) || s.Run.WentOn(e) {
			continue
		}
		i, _ := slices.BinarySearchFunc(s.Failures, e, func(o, e event.Event) int { return o.Seq - e.Seq })
		s.Failures = slices.Insert(s.Failures, i, e)
	}
}

// Of finds the events that ended a run, and the one that came first. A rank that failed by itself comes before the
// peers that report it; flushed, closed and timed-out peers are victims, wherever they stand in the log.
func Of(run *facts.Run) *Sequence {
	s := &Sequence{Run: run}
	moves := failovers(s.Run)
	for _, e := range s.Run.Log.Events {
		isOver := run.AfterGoal(e) || overcome(run, e) || failedOver(e, moves) || DidWithoutTopology(run, e)
		fatal := e.Class() > event.Soft && !isOver
		switch {
		case fatal, e.Class() == event.Soft && !run.AfterGoal(e) && IsFatal(s.Run, e):
			s.Failures = append(s.Failures, e)
		case e.Class() > event.Soft:
			s.Survived = append(s.Survived, e.Quote)
		}
	}
	if onlyTeardown(s) {
		s.Failures = nil
	}
	addUncaught(s)
	findOrigins(s)
	first := firstOf(s)
	if first < 0 {
		return s
	}
	e := s.Failures[first]
	s.Failures = append([]event.Event{e}, slices.Delete(s.Failures, first, first+1)...)
	s.First = &s.Failures[0]
	return s
}

// onlyTeardown reports whether the only failures are connections that peers closed while communicators were destroyed,
// or that port scanners closed. A rank that gives up before it was connected is none of these.
func onlyTeardown(s *Sequence) bool {
	neverUsed := slices.ContainsFunc(s.Failures, func(e event.Event) bool {
		return s.Run.LeadsToTrail(e) && !s.Run.Log.Ranks[e.Rank].Connected
	})
	others := slices.ContainsFunc(s.Failures, func(e event.Event) bool { return e.Kind != event.Consequence })
	switch {
	case neverUsed:
		return false
	case !others:
		return true
	}
	for _, e := range s.Failures {
		if e.Kind != event.SocketClosed && e.Kind != event.Consequence {
			return false
		}
	}
	return s.Run.Destroyed() || s.Run.Has(event.Stranger)
}
