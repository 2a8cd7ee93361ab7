package kube

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

const (
	// refusals limits how often a server may put a call off before that counts as its answer.
	refusals = 3
	// startupDenials limits how often a restarted server may refuse a right before it is believed, about 6 s with the
	// pauses between: one that has just started refuses rights that it has not read yet, and some of them after it is
	// ready.
	startupDenials = 5
)

// persist makes a call again while the server is away, for as long as the client's patience lasts. Before it does, it
// waits until the server says that it is ready.
func (c *Client) persist(ctx context.Context, call func(context.Context) error) error {
	patience := cmp.Or(c.Patience, defaultPatience)
	ctx = quiet(ctx)
	begun, answers, outages, refused := time.Now(), 0, 0, 0
	for attempt := 0; ; attempt++ {
		err := c.within(ctx, call)
		if lost(err) {
			outages++
		} else {
			answers++
		}
		final := err == nil || ctx.Err() != nil || !transient(err) || answers >= refusals
		if attempt > 0 && err == nil {
			c.isAway(false)
		}
		switch {
		case outages > 0 && refused < startupDenials && denied(err):
			if err := pause(ctx, refused); err != nil {
				return err
			}
			refused++
			continue
		case final:
			return reachError(c.config.Host, err)
		case time.Since(begun) > patience:
			return fmt.Errorf("%w for %s: %s: %w", ErrUnreachable, patience, c.config.Host, bare(err))
		case !c.isAway(true):
			c.talk(fmt.Sprintf("The API server %s does not answer (%v): trying again for %s", c.config.Host, bare(err), patience))
		}
		if err := c.awaitReady(ctx, begun.Add(patience)); err != nil {
			return err
		}
	}
}

func denied(err error) bool { return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) }

// isAway notes whether the server is away, and returns the previous note, so that of many failed calls only one is
// reported.
func (c *Client) isAway(now bool) (before bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before, c.away = c.away, now
	return before
}

// within makes a call, for no longer than one call may take.
func (c *Client) within(ctx context.Context, call func(context.Context) error) error {
	if c.limit == 0 {
		return call(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, c.limit)
	defer cancel()
	return call(ctx)
}

// awaitReady returns when the server says that it is ready, at the latest at the deadline.
func (c *Client) awaitReady(ctx context.Context, deadline time.Time) error {
	for attempt := 0; ; attempt++ {
		if err := pause(ctx, attempt); err != nil {
			return err
		}
		if c.ready(ctx) || time.Now().After(deadline) {
			return nil
		}
	}
}

// ready asks /readyz, which everyone may. A proxy may not let it through: then any answer but that of a broken server
// is one.
func (c *Client) ready(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	var code int
	c.rest.Get().AbsPath("/readyz").MaxRetries(0).Do(ctx).StatusCode(&code)
	return code != 0 && code < http.StatusInternalServerError
}

// pause waits before the next attempt: 0.2 s, then twice as long each time up to 5 s, spread so that many clients do
// not come back at once.
func pause(ctx context.Context, attempt int) error {
	wait := min(200*time.Millisecond<<min(attempt, 10), 5*time.Second)
	wait += time.Duration(rand.Int64N(int64(wait / 4)))
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
