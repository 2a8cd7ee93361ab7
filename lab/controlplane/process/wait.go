package process

import (
	"context"
	"fmt"
	"time"
)

// Until waits until ready returns nil, on a busy machine. It gives up after 90 s, when ctx ends, or when the process
// does, with an error that says what it waited for, what was missing at last, and the end of the process's log.
func Until(ctx context.Context, what string, p *Process, ready func(context.Context) error) error {
	return Wait{what, 90 * time.Second, 25 * time.Millisecond}.Until(ctx, p, ready)
}

// Wait says what is waited for, how long, and how often it is asked for.
type Wait struct {
	What           string
	Patience, Poll time.Duration
}

// Until waits like the function Until. The process may be nil.
func (w Wait) Until(ctx context.Context, p *Process, ready func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, w.Patience, fmt.Errorf("not within %s", w.Patience))
	defer cancel()
	var exited <-chan struct{}
	if p != nil {
		exited = p.Exited()
	}
	ticks := time.NewTicker(w.Poll)
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
			err := fmt.Errorf("wait until %s: %w; at last: %w", w.What, context.Cause(ctx), missing)
			if p != nil {
				err = fmt.Errorf("%w; the end of %s:\n%s", err, p.Log, p.Tail(20))
			}
			return err
		}
	}
}
