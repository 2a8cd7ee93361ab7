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
		e.err = bare(err)
		if why := r.lossWithin(l.patience.news); why != "" {
			e.err = podLost(why)
		}
	}
	r.gone = errors.As(e.err, new(podLost))
	r.cut = e.err != nil && !r.gone
	return e
}

// words say how a rank ended.
func (e ending) words() string {
	if e.err != nil {
		return "was lost: " + e.err.Error()
	}
	return fmt.Sprintf("ended with exit code %d", e.code)
}
