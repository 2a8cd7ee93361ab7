package launch

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/railhead/railhead/internal/kube"
	"github.com/railhead/railhead/internal/words"
)

// stage is one step of stopping the ranks.
type stage struct {
	after  time.Duration // since the stage before
	signal string        // empty: leave the ranks running
}

// patience has the waiting times of a launch.
type patience struct {
	grace     time.Duration // after SIGINT or SIGTERM: ranks save their work
	peer      time.Duration // after the first failure: the other ranks may fail too and print the reason
	kill      time.Duration // after SIGTERM or SIGKILL
	lossDelay time.Duration // streams may outlive their pod: the kubelet closes them when the container has exited
	status    time.Duration // the status of a pod may arrive after its streams broke
	retry     time.Duration // between connections to a run that goes on
}

// NewPatience returns the usual waiting times, with the time that ranks get to exit after a signal.
func NewPatience(grace time.Duration) patience {
	const usual = 10 * time.Second
	return patience{grace: grace, peer: usual, kill: usual, lossDelay: usual, status: 3 * time.Second,
		retry: 2 * time.Second}
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

// supervision is the state of a running launch.
type supervision struct {
	Outcome
	stages    []stage
	next      <-chan time.Time // when the first stage is due
	signalled bool
}

// stopBy replaces the stages.
func (s *supervision) stopBy(why error, stages []stage) {
	s.why = why
	s.stages = stages
	s.schedule()
}

func (s *supervision) schedule() {
	s.next = nil
	if len(s.stages) > 0 {
		s.next = time.After(s.stages[0].after)
	}
}

// interrupt stops the ranks at the user's request. If they were signalled before, the next signal is sent at once.
func (l *Session) interrupt(s *supervision) {
	if s.signalled && len(s.stages) > 0 {
		l.console.say("Interrupted again: sending the next signal now")
		if !errors.Is(s.why, errStopped) {
			s.why = errInterrupted
		}
		s.stages[0].after = 0
		s.schedule()
		return
	}
	l.console.say("Interrupted: sending SIGINT to the command in %s; SIGTERM follows after %v, SIGKILL %v later.\n"+
		"Press Ctrl-C again to exit at once and leave the command running in the pods.",
		words.Count(len(l.ranks), "pod"), l.Patience.grace, l.Patience.kill)
	s.stopBy(errInterrupted, l.Patience.afterInterrupt())
}

// stop stops an attached run.
func (l *Session) stop(s *supervision) {
	l.console.say("Stopping: sending SIGINT to the command in %s; SIGTERM follows after %v, SIGKILL %v later.\n"+
		"Press Ctrl-C to send the next signal now.",
		words.Count(len(l.ranks), "pod"), l.Patience.grace, l.Patience.kill)
	s.stopBy(errStopped, l.Patience.afterInterrupt())
	s.signalled = true
}

// step carries out the next stage.
func (l *Session) step(s *supervision, g *errgroup.Group, abandon context.CancelCauseFunc) {
	now := s.stages[0]
	s.stages = s.stages[1:]
	s.schedule()
	if now.signal == "" {
		abandon(errAbandoned)
		return
	}
	s.signalled = true
	for _, r := range l.ranks {
		if r.ctx.Err() != nil {
			continue
		}
		g.Go(func() error {
			if err := l.signal(r, now.signal); err != nil {
				l.console.say("%s: cannot send SIG%s: %v", r, now.signal, err)
			}
			return nil
		})
	}
	if now.signal != "INT" {
		l.console.say("Sending SIG%s to the ranks that are still running", now.signal)
	}
}

// signal sends a signal to the command of a rank. It waits until the command has started.
func (l *Session) signal(r *rank, name string) error {
	const limit = 15 * time.Second
	ctx, cancel := context.WithTimeout(r.ctx, limit)
	defer cancel()
	output := &kube.Capture{Limit: 4 << 10}
	for {
		code, err := l.pods.Exec(ctx, r.Ref(), kube.ExecOptions{
			Container: r.Container, Command: l.script(r, signalScript, name), Stdout: output, Stderr: output,
		})
		switch {
		case r.ctx.Err() != nil: // it has exited
			return nil
		case err != nil:
			return err
		case code == 0:
			return nil
		case code != notStarted:
			return fmt.Errorf("exit code %d: %s", code, strings.TrimSpace(output.String()))
		}
		const retryInterval = 300 * time.Millisecond
		select {
		case <-r.ctx.Done():
			return nil
		case <-ctx.Done():
			return errors.New("the command has not started yet")
		case <-time.After(retryInterval):
		}
	}
}
