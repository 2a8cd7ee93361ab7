package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/kube"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/report"
)

// errGaveUp ends a wait that will not come to its end by itself.
var errGaveUp = errors.New("it will not get there by itself")

// following is how a condition is followed.
type following struct {
	want     kube.Want
	limit    time.Duration // 0: for ever
	patience tolerance
	back     string // the command by which the user comes back to the wait; "": what is waited for is taken away when the wait ends
}

// seen is what a watch tells.
type seen struct {
	state cluster.State
	err   error
}

// follow shows how far a condition is until it holds, is stuck, or time or the user's patience ends. What may pass it shows at
// once, and gives up when it has lasted: time goes by without the cluster saying anything.
func (a *app) follow(ctx context.Context, client *kube.Client, done plan.Condition, f following) error {
	waiting, stop := context.WithCancel(ctx)
	if f.limit > 0 {
		var cancel context.CancelFunc
		waiting, cancel = context.WithTimeout(waiting, f.limit)
		defer cancel()
	}
	states := make(chan seen)
	var g errgroup.Group
	g.Go(func() error {
		defer close(states)
		for state, err := range client.Watch(waiting, f.want) {
			select {
			case states <- seen{state, err}:
			case <-waiting.Done():
				return nil
			}
		}
		return nil
	})
	defer func() {
		stop()
		_ = g.Wait() // what a watch meets it tells
	}()
	w := newWait(a.streams, f, time.Now())
	for {
		var later <-chan time.Time
		if wake := w.doubts.next(); !wake.IsZero() {
			later = time.After(time.Until(wake))
		}
		select {
		case s, more := <-states:
			if !more {
				return a.unfinished(ctx, waiting, w)
			}
			if w.sees(s, done, time.Now()) {
				return nil
			}
		case <-later:
		}
		if o := w.overdue(time.Now()); o != nil {
			w.live.Leave()
			a.findings(o.Finding)
			return gaveUp(*o)
		}
	}
}

// gaveUp is the error of a wait that an obstacle ends.
func gaveUp(o cluster.Obstacle) error {
	if o.Patience == 0 {
		return exitError{exitFault, errGaveUp}
	}
	return exitError{exitFault, fmt.Errorf("%w: it has been so for %v; --patience gives it longer", errGaveUp, o.Patience)}
}

// unfinished says how a wait ended that did not come to its end.
func (a *app) unfinished(ctx, waiting context.Context, w *wait) error {
	w.live.Leave()
	onwards := ""
	if w.back != "" {
		onwards = "; it goes on, come back with: " + w.back
	}
	switch {
	case ctx.Err() != nil:
		if w.back != "" {
			a.say("Stopped watching; what was started goes on. Come back with: %s", w.back)
		}
		return ctx.Err()
	case waiting.Err() == nil && w.lost != nil: // nothing more will be seen
		return fault(fmt.Errorf("it cannot be watched: %w%s", w.lost, onwards))
	}
	switch {
	case w.last.Stuck != nil:
		a.findings(w.last.Stuck.Finding)
	case w.last.Doubt != nil:
		a.findings(*w.last.Doubt)
	}
	return fault(fmt.Errorf("not done after %v: %s%s", w.limit, w.last.Text, onwards))
}

// wait is one wait: what was seen last, and how it is shown.
type wait struct {
	following
	live   *report.Live
	clock  *pace
	doubts doubts
	last   plan.Progress
	lost   error // why nothing is seen now
}

func newWait(s Streams, f following, now time.Time) *wait {
	return &wait{
		following: f, live: &report.Live{W: s.Err, TTY: s.TTY, Width: s.Width}, clock: newPace(now),
		last: plan.Progress{Text: "nothing was seen yet"},
	}
}

// sees takes what a watch tells, and reports whether it is done.
func (w *wait) sees(s seen, done plan.Condition, now time.Time) bool {
	if w.lost = s.err; s.err != nil {
		w.doubts.forget() // nobody knows what goes on meanwhile
		w.last.Stuck, w.last.Doubt = nil, nil
		w.live.Show(report.Frame{Text: fmt.Sprintf("the API server does not answer, still trying: %v", s.err)})
		return false
	}
	w.doubts.lasted(now)
	w.last = done(s.state)
	w.live.Show(frame(w.last, w.clock, now))
	return w.last.Done
}

// overdue returns the obstacle for which the wait is given up. It says which one is waited at, and what has passed.
func (w *wait) overdue(now time.Time) *cluster.Obstacle {
	o := w.last.Stuck
	if o != nil {
		o = w.patience.with(*o)
	}
	for _, line := range w.doubts.meet(o, now) {
		w.live.Say(line)
	}
	if o == nil || w.doubts.age(now) < o.Patience {
		return nil
	}
	return o
}

// frame renders progress; the time left of a bar is that which its parts took so far.
func frame(p plan.Progress, clock *pace, now time.Time) report.Frame {
	f := report.Frame{Text: p.Text}
	for _, b := range p.Bars {
		f.Bars = append(f.Bars, report.Bar{Name: b.Name, Count: b.Count, Total: b.Total, Note: clock.left(b, now)})
	}
	for _, i := range p.Items {
		f.Parts = append(f.Parts, report.Part{Name: i.Name, State: i.State, Note: i.Note, Quiet: i.State == plan.Waiting && i.Note == ""})
	}
	return f
}

// pace measures how fast bars move.
type pace struct {
	begun time.Time
	first map[string]int // count of each bar when it was seen first
}

func newPace(now time.Time) *pace { return &pace{now, map[string]int{}} }

// left says how long a bar needs at the pace so far; "" until something moved.
func (p *pace) left(b plan.Bar, now time.Time) string {
	first, seen := p.first[b.Name]
	if !seen {
		p.first[b.Name] = b.Count
	}
	if !seen || b.Count <= first || b.Count >= b.Total {
		return ""
	}
	each := now.Sub(p.begun) / time.Duration(b.Count-first)
	return "about " + (each * time.Duration(b.Total-b.Count)).Round(time.Second).String() + " left"
}
