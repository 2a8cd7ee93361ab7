package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/exit"
	"github.com/railhead/railhead/internal/kube"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/report"
)

// errGaveUp ends a wait that cannot succeed without help.
var errGaveUp = errors.New("it will not succeed without a fix")

type waitOptions struct {
	want   kube.Want
	limit  time.Duration  // 0: no limit
	retry  *time.Duration // how long a transient error may last; nil: as long as the obstacle says
	resume string         // the command that continues the wait; empty if that is not possible
}

// retryFlag adds --patience: how long a transient error may last before the command gives up.
func retryFlag(cmd *cobra.Command, limit **time.Duration) {
	cmd.Flags().Func("patience", "`duration` to wait for errors that Kubernetes retries; "+
		"0 fails immediately (default: 2m for pods, 10m for nodes)", func(text string) error {
		d, err := time.ParseDuration(text)
		if err != nil {
			return err
		}
		if d < 0 {
			return errors.New("must be 0 or more")
		}
		*limit = &d
		return nil
	})
}

type update struct {
	state cluster.State
	err   error
}

// follow shows the progress of a condition until it holds, is stuck or times out. A transient error is shown at once,
// and ends the wait when it has lasted too long.
func (a *app) follow(ctx context.Context, client *kube.Client, done plan.Condition, o waitOptions) error {
	waiting, stop := context.WithTimeout(ctx, cmp.Or(o.limit, math.MaxInt64))
	states := make(chan update)
	var g errgroup.Group
	g.Go(func() error {
		defer close(states)
		for state, err := range client.Watch(waiting, o.want) {
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
	}()
	w := newWait(a.Streams, o)
	for {
		var deadline <-chan time.Time
		if at := w.transient.Deadline(); !at.IsZero() {
			deadline = time.After(time.Until(at))
		}
		select {
		case s, more := <-states:
			if !more {
				return a.unfinished(ctx, waiting, w)
			}
			if w.update(s, done, time.Now()) {
				return nil
			}
		case <-deadline:
		}
		if overdue := w.overdue(time.Now()); overdue != nil {
			w.live.Leave()
			a.showFindings(overdue.Finding)
			return gaveUp(*overdue)
		}
	}
}

func gaveUp(o check.Obstacle) error {
	if o.Patience == 0 {
		return exit.Failed(errGaveUp)
	}
	return exit.Failed(fmt.Errorf("%w: the error has lasted %v; to wait longer, use --patience", errGaveUp, o.Patience))
}

// unfinished explains why a wait ended before the condition held.
func (a *app) unfinished(ctx, waiting context.Context, w *wait) error {
	w.live.Leave()
	onwards := ""
	if w.resume != "" {
		onwards = "; it continues in the cluster, follow it with: " + w.resume
	}
	switch {
	case ctx.Err() != nil:
		if w.resume != "" {
			a.say("Stopped watching; the change continues in the cluster. Follow it with: %s", w.resume)
		}
		return errInterrupted
	case waiting.Err() == nil && w.lost != nil: // the watch has ended
		return exit.Failed(fmt.Errorf("cannot watch the cluster: %w%s", w.lost, onwards))
	}
	switch {
	case w.last.Queued:
		a.say("%s%s", w.last.Text, onwards)
		return nil
	case w.last.Stuck != nil:
		a.showFindings(w.last.Stuck.Finding)
	case w.last.Doubt != nil:
		a.showFindings(*w.last.Doubt)
	}
	return exit.Failed(fmt.Errorf("not done after %v: %s%s", w.limit, w.last.Text, onwards))
}

// wait is the state of one wait.
type wait struct {
	waitOptions
	live      *report.Live
	pace      report.Pace
	transient plan.TransientErrors
	last      plan.Progress
	lost      error // of the watch
}

func newWait(s Streams, o waitOptions) *wait {
	return &wait{
		waitOptions: o,
		live:        s.live(),
		last:        plan.Progress{Text: "waiting for the cluster"},
	}
}

// update shows an update of the watch and reports whether the condition holds.
func (w *wait) update(s update, done plan.Condition, now time.Time) bool {
	if w.lost = s.err; s.err != nil {
		w.transient.Reset() // the state is unknown
		w.last.Stuck, w.last.Doubt = nil, nil
		w.live.Show(report.Frame{Text: fmt.Sprintf("the API server does not answer, retrying: %v", s.err)})
		return false
	}
	w.transient.StillThere(now)
	w.last = done(s.state)
	w.live.Show(frame(w.last, &w.pace, now))
	return w.last.Done
}

// overdue returns the obstacle that has lasted too long, or nil. It prints new and resolved errors.
func (w *wait) overdue(now time.Time) *check.Obstacle {
	o := w.last.Stuck
	if o != nil && o.Patience > 0 && w.retry != nil {
		limited := *o
		limited.Patience = *w.retry
		o = &limited
	}
	for _, line := range w.transient.Update(o, now) {
		w.live.Say(line)
	}
	if o == nil || w.transient.Age(now) < o.Patience {
		return nil
	}
	return o
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
