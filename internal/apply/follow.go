package apply

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/kube"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/report"
)

// Watcher yields the state of the cluster whenever it changes; *kube.Client implements it.
type Watcher interface {
	Watch(ctx context.Context, w kube.Want) iter.Seq2[cluster.State, error]
}

// Wait describes the wait for a condition.
type Wait struct {
	Want     kube.Want      // the lists that the condition reads
	Limit    time.Duration  // 0: no limit
	Patience *time.Duration // how long a transient error may last; nil: as long as the obstacle says
	Resume   string         // the command that continues the wait; empty if that is not possible
	Live     *report.Live   // shows the progress, and all messages
}

func (w Wait) say(format string, args ...any) { w.Live.Say(fmt.Sprintf(format, args...)) }

func (w Wait) showFindings(all ...check.Finding) { report.Findings(w.Live.W, all, report.Full) }

// errGaveUp ends a wait that cannot succeed without help.
var errGaveUp = errors.New("it will not succeed without a fix")

type update struct {
	state cluster.State
	err   error
}

// Follow shows the progress of a condition until it holds, is stuck or times out. A transient error is shown at once,
// and ends the wait when it has lasted too long. Follow returns ErrInterrupted if ctx ends before.
func Follow(ctx context.Context, c Watcher, done plan.Condition, w Wait) error {
	waiting, stop := context.WithTimeout(ctx, cmp.Or(w.Limit, math.MaxInt64))
	states := make(chan update)
	var g errgroup.Group
	g.Go(func() error {
		defer close(states)
		for state, err := range c.Watch(waiting, w.Want) {
			select {
			case states <- update{state, err}:
			case <-waiting.Done():
				return nil
			}
		}
		return nil
	})
	defer func() {
		stop()
		_ = g.Wait() // watch errors come through states
		w.Live.Leave()
	}()
	f := follower{Wait: w, last: plan.Progress{Text: "waiting for the cluster"}}
	for {
		select {
		case s, more := <-states:
			if !more {
				return f.unfinished(ctx, waiting)
			}
			if f.update(s, done, time.Now()) {
				return nil
			}
		case <-f.deadline():
		}
		if overdue := f.overdue(time.Now()); overdue != nil {
			f.showFindings(overdue.Finding)
			return gaveUp(*overdue)
		}
	}
}

func gaveUp(o check.Obstacle) error {
	if o.Patience == 0 {
		return errGaveUp
	}
	return fmt.Errorf("%w: the error has lasted %v; to wait longer, use --patience", errGaveUp, o.Patience)
}

// follower is the state of one wait.
type follower struct {
	Wait
	pace      report.Pace
	transient plan.TransientErrors
	last      plan.Progress
	lost      error // of the watch
}

// update shows an update of the watch and reports whether the condition holds.
func (f *follower) update(s update, done plan.Condition, now time.Time) bool {
	if f.lost = s.err; s.err != nil {
		f.transient.Reset() // the state is unknown
		f.last.Stuck, f.last.Doubt = nil, nil
		f.Live.Show(report.Frame{Text: fmt.Sprintf("the API server does not answer, retrying: %v", s.err)})
		return false
	}
	f.transient.StillThere(now)
	f.last = done(s.state)
	f.Live.Show(frame(f.last, &f.pace, now))
	return f.last.Done
}

// deadline returns a channel that wakes the wait when an error times out or counts as resolved; nil if there is none.
func (f *follower) deadline() <-chan time.Time {
	at := f.transient.Deadline()
	if at.IsZero() {
		return nil
	}
	return time.After(time.Until(at))
}

// overdue returns the obstacle that has lasted too long, or nil. It prints new and resolved errors.
func (f *follower) overdue(now time.Time) *check.Obstacle {
	o := f.last.Stuck
	if o != nil && o.Patience > 0 && f.Patience != nil {
		limited := *o
		limited.Patience = *f.Patience
		o = &limited
	}
	for _, line := range f.transient.Update(o, now) {
		f.Live.Say(line)
	}
	if o == nil || f.transient.Age(now) < o.Patience {
		return nil
	}
	return o
}

// unfinished explains why the watch ended before the condition held.
func (f *follower) unfinished(ctx, waiting context.Context) error {
	onwards := ""
	if f.Resume != "" {
		onwards = "; it continues in the cluster, follow it with: " + f.Resume
	}
	switch {
	case ctx.Err() != nil:
		if f.Resume != "" {
			f.say("Stopped watching; the change continues in the cluster. Follow it with: %s", f.Resume)
		}
		return ErrInterrupted
	case waiting.Err() == nil && f.lost != nil: // the watch has ended
		return fmt.Errorf("cannot watch the cluster: %w%s", f.lost, onwards)
	case f.last.Queued:
		f.say("%s%s", f.last.Text, onwards)
		return nil
	case f.last.Stuck != nil:
		f.showFindings(f.last.Stuck.Finding)
	case f.last.Doubt != nil:
		f.showFindings(*f.last.Doubt)
	}
	return fmt.Errorf("not done after %v: %s%s", f.Limit, f.last.Text, onwards)
}

func frame(p plan.Progress, pace *report.Pace, now time.Time) report.Frame {
	f := report.Frame{Text: p.Text, Last: p.Done}
	for _, b := range p.Bars {
		bar := report.Bar{Name: b.Name, Count: b.Count, Total: b.Total}
		bar.Note = pace.Note(bar, now)
		f.Bars = append(f.Bars, bar)
	}
	for _, i := range p.Items {
		quiet := i.State == plan.Waiting && i.Note == ""
		f.Parts = append(f.Parts, report.Part{Name: i.Name, State: i.State, Note: i.Note, Quiet: quiet})
	}
	return f
}
