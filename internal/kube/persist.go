package kube

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
)

const (
	// busyAnswers limits how often the server may ask to try again later.
	busyAnswers = 3
	// startupDenials limits how often a restarted server may deny a right before it is believed: about 6 s with the
	// pauses. A server that has just started has not read all roles yet, even shortly after it says that it is ready.
	startupDenials = 5
)

// persist repeats a call while the server does not answer, for as long as the client's patience lasts. Before each
// repetition it waits until the server says that it is ready.
func (c *Client) persist(ctx context.Context, call func(context.Context) error) error {
	patience := cmp.Or(c.Patience, defaultPatience)
	ctx = quiet(ctx)
	begun, answers, outages, denials := time.Now(), 0, 0, 0
	for attempt := 0; ; attempt++ {
		err := c.withTimeout(ctx, call)
		if err == nil {
			if attempt > 0 {
				c.setAway(false)
			}
			return nil
		}
		if lost(err) {
			outages++
		} else {
			answers++
		}
		var waitErr error
		switch {
		case outages > 0 && denials < startupDenials && denied(err):
			waitErr = pause(ctx, denials)
			denials++
		case ctx.Err() != nil || !transient(err) || answers >= busyAnswers:
			return reachError(c.config.Host, err)
		case time.Since(begun) > patience:
			return fmt.Errorf("%w for %s: %s: %w", ErrUnreachable, patience, c.config.Host, withoutURL(err))
		default:
			if !c.setAway(true) {
				c.talk(fmt.Sprintf("The API server %s does not answer (%v): trying again for %s",
					c.config.Host, withoutURL(err), patience))
			}
			waitErr = c.awaitReady(ctx, begun.Add(patience))
		}
		if waitErr != nil {
			return waitErr
		}
	}
}

func denied(err error) bool { return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) }

// setAway notes whether the server is away and returns the previous note, so that only one of many failed calls is
// reported.
func (c *Client) setAway(now bool) (before bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before, c.away = c.away, now
	return before
}

// withTimeout makes a call under the limit of --request-timeout.
func (c *Client) withTimeout(ctx context.Context, call func(context.Context) error) error {
	if c.limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.limit)
		defer cancel()
	}
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

// ready asks /readyz, which needs no right. A proxy may not forward it, so any response below 500 counts.
func (c *Client) ready(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	var code int
	c.rest.Get().AbsPath("/readyz").MaxRetries(0).Do(ctx).StatusCode(&code)
	return code != 0 && code < http.StatusInternalServerError
}

// pause waits before the next attempt: 0.2 s, then twice as long each time up to 5 s, and up to a quarter longer, so
// that clients do not retry in step.
func pause(ctx context.Context, attempt int) error {
	const first, longest = 200 * time.Millisecond, 5 * time.Second
	select {
	case <-time.After(wait.Jitter(min(first<<min(attempt, 10), longest), 0.25)):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
