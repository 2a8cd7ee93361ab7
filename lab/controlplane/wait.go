package controlplane

import (
	"context"
	"fmt"
	"time"

	"github.com/railhead/railhead/lab/controlplane/process"
)

// poll is the interval of until.
const poll = 25 * time.Millisecond

// until waits until ready returns nil. It gives up when patience or ctx ends, or the process does, with an error that
// says what it waited for, what was missing at last, and the end of the process's log.
func until(ctx context.Context, what string, p *process.Process, ready func(context.Context) error) error {
	return wait{what, patience, poll}.until(ctx, p, ready)
}

// wait says what is waited for, how long, and how often it is asked for.
type wait struct {
	what           string
	patience, poll time.Duration
}

// until waits like the function until. The process may be nil.
func (w wait) until(ctx context.Context, p *process.Process, ready func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, w.patience, fmt.Errorf("not within %s", w.patience))
	defer cancel()
	var exited <-chan struct{}
	if p != nil {
		exited = p.Exited()
	}
	ticks := time.NewTicker(w.poll)
	defer ticks.Stop()
	for {
		missing := ready(ctx)
		if missing == nil {
			return nil
		}
		select {
		case <-ticks.C:
		case <-exited:
			return p.Err()
		case <-ctx.Done():
			err := fmt.Errorf("wait until %s: %w; at last: %w", w.what, context.Cause(ctx), missing)
			if p != nil {
				err = fmt.Errorf("%w; the end of %s:\n%s", err, p.Log, p.Tail(20))
			}
			return err
		}
	}
}
