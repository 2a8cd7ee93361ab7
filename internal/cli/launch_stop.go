package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/railhead/railhead/internal/kube"
)

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
			return bare(err)
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
