package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/railhead/railhead/internal/kube"
)

// Why a launch ends its ranks.
var (
	errInterrupted = errors.New("interrupted")
	errTimeout     = errors.New("the time is over")
	errNoReader    = errors.New("nobody reads the output any more")
	errPeerFailed  = errors.New("another rank failed")
	errLeft        = errors.New("it does not end: its processes may run on")
)

// ending is how one rank ended.
type ending struct {
	rank *rank
	code int
	err  error // why it was not seen to its end; nil: it was
	at   time.Time
}

func (e ending) failed() bool { return e.code != 0 || e.err != nil }

// outcome is how a run ended.
type outcome struct {
	first  *ending // the first in time that failed; nil: none did
	failed int
	left   int   // ranks that did not end
	why    error // why railhead ended the ranks; nil: it did not
	limit  time.Duration
}

// take notes how a rank ended. The news of one that is lost may come after that of those that it takes with it.
func (o *outcome) take(e ending) {
	if errors.Is(e.err, errLeft) {
		o.left++
	}
	if !e.failed() {
		return
	}
	o.failed++
	byItself := o.why == nil || errors.Is(o.why, errPeerFailed)
	if byItself && (o.first == nil || e.at.Before(o.first.at)) {
		o.first = &e
	}
}

// exitTimeout is that of timeout(1).
const exitTimeout = 124

// code is the exit code of the launch.
func (o outcome) code() int {
	switch {
	case errors.Is(o.why, errInterrupted):
		return exitInterrupted
	case errors.Is(o.why, errTimeout):
		return exitTimeout
	case errors.Is(o.why, errNoReader):
		return exitFault
	case o.first == nil:
		return 0
	case o.first.err != nil:
		return exitFault
	}
	return o.first.code
}

// stage is one step in ending the ranks that still run.
type stage struct {
	after  time.Duration // since the stage before
	signal string        // "": they are left to themselves
}

// patience is how long a launch waits for what.
type patience struct {
	grace time.Duration // after SIGINT, and after SIGTERM: ranks save what they have
	peer  time.Duration // after the first failure: the others may fail by themselves, and say why
	kill  time.Duration // SIGTERM and SIGKILL take effect, or a node is gone
	loss  time.Duration // streams may outlive their pod: kubelet closes them when the container has ended
	news  time.Duration // of a pod's end may come after its streams broke
}

func newPatience(grace time.Duration) patience {
	return patience{grace: grace, peer: 10 * time.Second, kill: 10 * time.Second, loss: 10 * time.Second, news: 3 * time.Second}
}

func (p patience) afterInterrupt() []stage {
	return []stage{{0, "INT"}, {p.grace, "TERM"}, {p.kill, "KILL"}, {p.kill, ""}}
}

func (p patience) afterFailure() []stage {
	return []stage{{p.peer, "TERM"}, {p.grace, "KILL"}, {p.kill, ""}}
}

func (p patience) afterTimeout() []stage {
	return []stage{{0, "TERM"}, {p.grace, "KILL"}, {p.kill, ""}}
}

// course is where a run is on its way.
type course struct {
	outcome
	stages []stage
	next   <-chan time.Time // of the first stage
	told   bool             // a signal was sent
}

// to ends the ranks by other stages from now on.
func (c *course) to(why error, stages []stage) {
	c.why = why
	c.stages = stages
	c.await()
}

func (c *course) await() {
	c.next = nil
	if len(c.stages) > 0 {
		c.next = time.After(c.stages[0].after)
	}
}

// run starts the command in all pods and waits until it has ended in all.
func (l *launch) run(ctx context.Context) outcome {
	running, leave := context.WithCancelCause(context.WithoutCancel(ctx))
	defer leave(nil)
	watching, unwatch := context.WithCancel(running)
	defer unwatch()
	var g errgroup.Group
	g.SetLimit(8*len(l.ranks) + 1) // each rank with its signals, and the watch
	ends := make(chan ending)
	l.screen.say("Running in %s: %s", count(len(l.ranks), "pod"), spokenCommand(l.argv))
	for _, r := range l.ranks {
		r.ctx, r.cancel = context.WithCancelCause(running)
	}
	for _, r := range l.ranks {
		g.Go(func() error {
			ends <- l.runRank(r)
			return nil
		})
	}
	g.Go(func() error {
		l.watch(watching)
		return nil
	})
	o := l.steer(ctx, ends, &g, leave)
	unwatch()
	_ = g.Wait() // ranks report through ends, signals on the screen
	return o
}

// spokenCommand is a command in one line, as a shell would take it, and not all of one that is long.
func spokenCommand(argv []string) string {
	words := make([]string, len(argv))
	for i, w := range argv {
		if words[i] = w; w == "" || strings.ContainsFunc(w, func(r rune) bool { return !plainInShell(r) }) {
			words[i] = strconv.Quote(w)
		}
	}
	const most = 200
	text := []rune(strings.Join(words, " "))
	if len(text) > most {
		return string(text[:most]) + " ..."
	}
	return string(text)
}

func plainInShell(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_=+.,:/@%", r)
}

// steer waits for all ranks, and ends them when there is a reason to.
func (l *launch) steer(ctx context.Context, ends <-chan ending, g *errgroup.Group, leave context.CancelCauseFunc) outcome {
	c := course{outcome: outcome{limit: l.limit}}
	asked, broken := ctx.Done(), l.screen.broken
	var over <-chan time.Time
	if l.limit > 0 {
		over = time.After(l.limit)
	}
	for left := len(l.ranks); left > 0; {
		select {
		case e := <-ends:
			left--
			if c.take(e); e.failed() && c.why == nil && left > 0 {
				c.to(errPeerFailed, l.patience.afterFailure())
				l.screen.say("%s %s; the others are told to end in %v", e.rank, e.words(), l.patience.peer)
			}
		case <-asked:
			asked = nil
			l.interrupt(&c)
		case <-broken:
			broken = nil
			if c.why == nil {
				c.to(errNoReader, l.patience.afterInterrupt())
			}
		case <-over:
			over = nil
			if c.why == nil {
				l.screen.say("The command runs for %v: it is told to end (SIGTERM); SIGKILL follows in %v", l.limit, l.patience.grace)
				c.to(errTimeout, l.patience.afterTimeout())
			}
		case <-c.next:
			l.step(&c, g, leave)
		}
	}
	return c.outcome
}

// interrupt ends the ranks because the user wants it; ranks that were told already are told more firmly.
func (l *launch) interrupt(c *course) {
	if c.told && len(c.stages) > 0 {
		l.screen.say("Interrupted: not waiting any longer")
		c.why = errInterrupted
		c.stages[0].after = 0
		c.await()
		return
	}
	l.screen.say("Interrupted: SIGINT goes to the command in %s; SIGTERM follows in %v, SIGKILL %v later.\nCtrl-C again ends railhead at once and leaves the command running in the pods.",
		count(len(l.ranks), "pod"), l.patience.grace, l.patience.kill)
	c.to(errInterrupted, l.patience.afterInterrupt())
}

// step takes the next stage.
func (l *launch) step(c *course, g *errgroup.Group, leave context.CancelCauseFunc) {
	now := c.stages[0]
	c.stages = c.stages[1:]
	c.await()
	if now.signal == "" {
		leave(errLeft)
		return
	}
	c.told = true
	for _, r := range l.ranks {
		if r.ctx.Err() != nil {
			continue
		}
		g.Go(func() error {
			if err := l.signal(r, now.signal); err != nil {
				l.screen.say("%s: SIG%s did not reach it: %v", r, now.signal, err)
			}
			return nil
		})
	}
	if now.signal != "INT" {
		l.screen.say("SIG%s to the ranks that still run", now.signal)
	}
}

// signal sends a signal to the command of a rank, when it has started.
func (l *launch) signal(r *rank, name string) error {
	const limit = 15 * time.Second
	ctx, cancel := context.WithTimeout(r.ctx, limit)
	defer cancel()
	said := &bounded{limit: 4 << 10}
	for {
		code, err := l.pods.Exec(ctx, r.ref(), kube.ExecOptions{
			Container: r.container, Command: l.script(r, signalScript, name), Stdout: said, Stderr: said,
		})
		switch {
		case r.ctx.Err() != nil: // it has ended meanwhile
			return nil
		case err != nil:
			return err
		case code == 0:
			return nil
		case code != notStarted:
			return fmt.Errorf("exit code %d: %s", code, strings.TrimSpace(said.String()))
		}
		const again = 300 * time.Millisecond
		select {
		case <-r.ctx.Done():
			return nil
		case <-ctx.Done():
			return errors.New("the command has not started yet")
		case <-time.After(again):
		}
	}
}

// runRank runs the command in one pod, to its end.
func (l *launch) runRank(r *rank) ending {
	defer r.cancel(nil)
	out := newLines(l.screen, &l.screen.out, r.rank, l.streams.Color, l.seen.scan)
	errs := newLines(l.screen, &l.screen.err, r.rank, l.streams.Color, func(line []byte) {
		l.seen.scan(line)
		r.errors.see(line)
	})
	code, err := l.pods.Exec(r.ctx, r.ref(), kube.ExecOptions{
		Container: r.container, Command: l.startCommand(r), Stdout: out, Stderr: errs,
	})
	e := ending{rank: r, code: code, err: err, at: time.Now()}
	out.Close()
	errs.Close()
	const killed = 128 + 9
	if cause := context.Cause(r.ctx); cause != nil {
		e.err = cause
	} else if err != nil || code == killed {
		if why := r.lossWithin(l.patience.news); why != "" {
			e.err = errors.New(why)
		}
	}
	return e
}

// words say how a rank ended.
func (e ending) words() string {
	if e.err != nil {
		return "was lost: " + e.err.Error()
	}
	return fmt.Sprintf("ended with exit code %d", e.code)
}
