package launch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/railhead/railhead/internal/exit"
	"github.com/railhead/railhead/internal/kube"
)

// Why a launch stops its ranks.
var (
	errInterrupted = errors.New("interrupted")
	errTimeout     = errors.New("timeout")
	errNoReader    = errors.New("output closed")
	errPeerFailed  = errors.New("another rank failed")
	errAbandoned   = errors.New("the command did not exit; its processes may still be running")
)

// result is the end of one rank.
type result struct {
	rank *rank
	code int
	err  error // if the exit code is unknown
	at   time.Time
}

func (e result) failed() bool { return e.code != 0 || e.err != nil }

// Outcome is the end of a launch.
type Outcome struct {
	first     *result // to fail; nil if none did
	failed    int
	abandoned int   // ranks that did not exit
	why       error // the launch stopped its ranks; nil if it did not
	limit     time.Duration
}

// record stores the end of a rank. A lost rank may be reported after the ranks that failed because of it.
func (o *Outcome) record(e result) {
	if errors.Is(e.err, errAbandoned) {
		o.abandoned++
	}
	if !e.failed() {
		return
	}
	o.failed++
	ownFailure := o.why == nil || errors.Is(o.why, errPeerFailed)
	if ownFailure && (o.first == nil || e.at.Before(o.first.at)) {
		o.first = &e
	}
}

// Code returns the exit code of the launch.
func (o Outcome) Code() exit.Code {
	switch {
	case errors.Is(o.why, errInterrupted), errors.Is(o.why, errDetached):
		return exit.Interrupted
	case errors.Is(o.why, errStopped) && o.abandoned > 0:
		return exit.Fault
	case errors.Is(o.why, errTimeout):
		return exit.Timeout
	case errors.Is(o.why, errNoReader):
		return exit.Fault
	case o.first == nil:
		return 0
	case o.first.err != nil:
		return exit.Fault
	}
	return exit.Code(o.first.code)
}

// Run prepares the pods, runs the command and cleans up. The error says why nothing was started.
func (l *Session) Run(ctx context.Context) (Outcome, error) {
	if err := l.Prepare(ctx); err != nil {
		l.clear(ctx)
		return Outcome{}, err
	}
	o := l.Execute(ctx)
	l.finish(ctx, o)
	return o, nil
}

// Show shows or stops a run that was started before, until it ends or ctx does.
func (l *Session) Show(ctx context.Context) Outcome {
	o := l.Execute(ctx)
	l.finish(ctx, o)
	return o
}

// Cause describes the first failure; empty if no rank failed.
func (o Outcome) Cause() string {
	switch {
	case errors.Is(o.why, errTimeout):
		return fmt.Sprintf("it did not finish within %v", o.limit)
	case o.first == nil:
		return ""
	}
	text := o.first.rank.String() + " " + o.first.String()
	const most = 3
	if last := o.first.rank.errors.lines(); len(last) > 0 {
		text += ": " + strings.Join(last[max(0, len(last)-most):], "; ")
	}
	return text
}

// Execute starts the command in all pods and waits until it has exited in all.
func (l *Session) Execute(ctx context.Context) Outcome {
	running, abandon := context.WithCancelCause(context.WithoutCancel(ctx))
	defer abandon(nil)
	watching, unwatch := context.WithCancel(running)
	defer unwatch()
	var g errgroup.Group
	g.SetLimit(8*len(l.ranks) + 2) // ranks, their signals, the watch, the readings
	ends := make(chan result)
	l.introduce()
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
		l.watchPods(watching)
		return nil
	})
	g.Go(func() error {
		l.readWire(watching)
		return nil
	})
	o := l.supervise(ctx, ends, &g, abandon)
	unwatch()
	_ = g.Wait() // ranks report through ends, signals on the console
	return o
}

// commandLine quotes a command as a shell needs it, in one line of limited length.
func commandLine(argv []string) string {
	args := slices.Clone(argv)
	for i, arg := range args {
		if strings.Trim(arg, unquoted) != "" || arg == "" {
			args[i] = strconv.Quote(arg)
		}
	}
	const most = 200 // runes
	text := []rune(strings.Join(args, " "))
	if len(text) > most {
		return string(text[:most]) + " ..."
	}
	return string(text)
}

// unquoted has the characters that shells take literally.
const unquoted = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=+.,:/@%"

// supervise waits for all ranks and stops them on the first failure, interrupt or timeout.
func (l *Session) supervise(
	ctx context.Context, ends <-chan result, g *errgroup.Group, abandon context.CancelCauseFunc,
) Outcome {
	s := supervision{Outcome: Outcome{limit: l.Limit}}
	if l.attached != nil && l.attached.Stop {
		l.stop(&s)
	}
	interrupted, closed := ctx.Done(), l.console.broken
	var timeout <-chan time.Time
	if l.Limit > 0 {
		timeout = time.After(l.Limit)
	}
	for left := len(l.ranks); left > 0; {
		select {
		case e := <-ends:
			left--
			l.ended(&s, e, left)
		case <-interrupted:
			if interrupted = nil; !l.leave(&s, abandon) {
				l.interrupt(&s)
			}
		case <-closed:
			if closed = nil; !l.leave(&s, abandon) && s.why == nil {
				s.stopBy(errNoReader, l.Patience.afterInterrupt())
			}
		case <-timeout:
			timeout = nil
			l.timedOut(&s)
		case <-s.next:
			l.step(&s, g, abandon)
		}
	}
	return s.Outcome
}

// ended records the end of a rank. The first failure stops the others.
func (l *Session) ended(s *supervision, e result, left int) {
	if s.record(e); e.failed() && s.why == nil && left > 0 {
		s.stopBy(errPeerFailed, l.Patience.afterFailure())
		l.console.say("%s %s; stopping the other ranks in %v", e.rank, e, l.Patience.peer)
	}
}

func (l *Session) timedOut(s *supervision) {
	if s.why != nil {
		return
	}
	l.console.say("Timeout: the command has run for %v. Sending SIGTERM; SIGKILL follows after %v",
		l.Limit, l.Patience.grace)
	s.stopBy(errTimeout, l.Patience.afterTimeout())
}

func (l *Session) runRank(r *rank) result {
	defer r.cancel(nil)
	out := newLineWriter(l.console, &l.console.out, r.Rank, l.color, l.Evidence.Stream(r.String()+" stdout"))
	observe := l.Evidence.Stream(r.String() + " stderr")
	errs := newLineWriter(l.console, &l.console.err, r.Rank, l.color, func(line []byte) {
		observe(line)
		r.errors.add(line)
		r.refused = r.refused || bytes.HasPrefix(line, []byte(ownMessage))
	})
	streams := kube.ExecOptions{
		Container: r.Container,
		Stdout:    io.MultiWriter(l.Logs.of(r.Rank, "out"), out),
		Stderr:    io.MultiWriter(l.Logs.of(r.Rank, "err"), errs),
	}
	run := l.start
	if l.attached != nil {
		run = l.follow
	}
	code, at, err := run(r, streams)
	e := result{rank: r, code: code, err: err, at: at}
	out.Close()
	errs.Close()
	r.unstarted = r.refused && refusals[exit.Code(code)] // the command may end with these codes, too
	const killed = 128 + 9
	if cause := context.Cause(r.ctx); cause != nil {
		e.err = cause
	} else if err != nil || code == killed {
		e.err = err
		if why := r.waitForLoss(l.Patience.status); why != "" {
			e.err = podLost(why)
		}
	}
	r.podLost = errors.As(e.err, new(podLost))
	r.disconnected = e.err != nil && !r.podLost
	return e
}

// ownMessage begins the errors of railhead-pod.
const ownMessage = "railhead-pod: "

// refusals are the exit codes of railhead-pod if it did not start the command.
var refusals = map[exit.Code]bool{exit.Refused: true, exit.CannotInvoke: true, exit.NotFound: true}

// start runs the command of a rank as long as its streams.
func (l *Session) start(r *rank, o kube.ExecOptions) (code int, at time.Time, err error) {
	o.Command = l.startCommand(r)
	code, err = l.pods.Exec(r.ctx, r.Ref(), o)
	return code, time.Now(), err
}

func (e result) String() string {
	if e.err != nil {
		return "was lost: " + e.err.Error()
	}
	return fmt.Sprintf("ended with exit code %d", e.code)
}
