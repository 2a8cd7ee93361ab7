package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/railhead/railhead/internal/check"
)

// settleTime is the time that an error must stay away before it counts as resolved: a crash-looping pod looks healthy
// between restarts.
const settleTime = 30 * time.Second

// TransientErrors are obstacles of a wait that may go away. Their text may change, so check and subject identify them.
// The zero value has seen none.
type TransientErrors struct {
	known   map[errorKey]*transientError
	current *transientError
}

type errorKey struct {
	check   check.ID
	subject check.Ref
}

type transientError struct {
	check.Obstacle
	first, last time.Time // when it was seen
}

// Reset forgets all errors.
func (t *TransientErrors) Reset() { *t = TransientErrors{} }

// StillThere extends the current error until now.
func (t *TransientErrors) StillThere(now time.Time) {
	if t.current != nil {
		t.current.last = now
	}
}

// Update records the current obstacle, nil for none. It returns messages about new and resolved errors.
func (t *TransientErrors) Update(o *check.Obstacle, now time.Time) []string {
	var lines []string
	for key, known := range t.known {
		if gone := now.Sub(known.last) >= settleTime; gone && known != t.current {
			delete(t.known, key)
			if o == nil {
				lines = append(lines, fmt.Sprintf("Resolved: %s [%s]", known.Summary, known.Check))
			}
		}
	}
	if t.current = nil; o == nil {
		slices.Sort(lines)
		return lines
	}
	key := errorKey{o.Check, o.Subject}
	known, again := t.known[key]
	if !again {
		known = &transientError{first: now}
		if t.known == nil {
			t.known = map[errorKey]*transientError{}
		}
		t.known[key] = known
		if o.Patience > 0 {
			lines = append(lines, announce(*o))
		}
	}
	known.Obstacle, known.last = *o, now
	t.current = known
	return lines
}

func announce(o check.Obstacle) string {
	text := fmt.Sprintf("Waiting up to %v for Kubernetes to retry: %s [%s]", o.Patience, o.Summary, o.Check)
	if o.Fix != nil {
		text += "\n  If it persists: " + o.Fix.Text
		if len(o.Fix.Commands) > 0 {
			text += " (" + strings.Join(o.Fix.Commands, "; ") + ")"
		}
	}
	return text
}

// Age returns how long the current error has lasted.
func (t *TransientErrors) Age(now time.Time) time.Duration { return now.Sub(t.current.first) }

// Deadline returns when an error times out or counts as resolved; zero if there is none.
func (t *TransientErrors) Deadline() time.Time {
	var wake time.Time
	for _, known := range t.known {
		at := known.last.Add(settleTime)
		if known == t.current {
			at = known.first.Add(known.Patience)
		}
		if wake.IsZero() || at.Before(wake) {
			wake = at
		}
	}
	return wake
}
