package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
)

// tolerance is how long an obstacle that may pass is waited at; without the flag as long as each takes.
type tolerance struct {
	limit time.Duration
	set   bool
}

func (t *tolerance) flag(cmd *cobra.Command) {
	cmd.Flags().Var(t, "patience", "how long something may be wrong that is tried again by itself, before the wait is given up; 0 gives up at once (default 2m for pods, 10m for nodes)")
}

// String implements pflag.Value.
func (t *tolerance) String() string {
	if !t.set {
		return ""
	}
	return t.limit.String()
}

// Type implements pflag.Value.
func (t *tolerance) Type() string { return "duration" }

// Set implements pflag.Value.
func (t *tolerance) Set(text string) error {
	limit, err := time.ParseDuration(text)
	if err != nil {
		return err
	}
	if limit < 0 {
		return errors.New("must be 0 or more")
	}
	t.limit, t.set = limit, true
	return nil
}

// with is an obstacle as the user has patience with it.
func (t tolerance) with(o cluster.Obstacle) *cluster.Obstacle {
	if t.set && o.Patience > 0 {
		o.Patience = t.limit
	}
	return &o
}

// lull is how long an obstacle has to be gone to have passed: a pod that fails and is made again has none in between.
const lull = 30 * time.Second

// doubts are the obstacles that may pass, by what they are about: the words of one that comes again differ.
type doubts struct {
	all map[about]*doubt
	now *doubt // the one that is there
}

type about struct {
	check   check.ID
	subject check.Subject
}

type doubt struct {
	cluster.Obstacle
	since, last time.Time // when it was there first and last
}

// forget begins anew.
func (d *doubts) forget() { *d = doubts{} }

// lasted is that the obstacle that was there has been there until now.
func (d *doubts) lasted(now time.Time) {
	if d.now != nil {
		d.now.last = now
	}
}

// meet notes the obstacle that is there, nil for none, and returns what there is to say of it: that it is waited at, or that
// it has passed.
func (d *doubts) meet(o *cluster.Obstacle, now time.Time) []string {
	var lines []string
	for key, known := range d.all {
		if gone := now.Sub(known.last) >= lull; gone && known != d.now {
			delete(d.all, key)
			if o == nil {
				lines = append(lines, fmt.Sprintf("It has passed: %s [%s]", known.Summary, known.Check))
			}
		}
	}
	if d.now = nil; o == nil {
		slices.Sort(lines)
		return lines
	}
	key := about{o.Check, o.Subject}
	known, again := d.all[key]
	if !again {
		known = &doubt{since: now}
		if d.all == nil {
			d.all = map[about]*doubt{}
		}
		d.all[key] = known
		if o.Patience > 0 {
			lines = append(lines, announce(*o))
		}
	}
	known.Obstacle, known.last = *o, now
	d.now = known
	return lines
}

// announce says that an obstacle is waited at, and what helps where it does not pass.
func announce(o cluster.Obstacle) string {
	text := fmt.Sprintf("Waiting up to %v for this to pass: %s [%s]", o.Patience, o.Summary, o.Check)
	if o.Fix != nil {
		text += "\n  If it does not: " + o.Fix.Text
		if len(o.Fix.Commands) > 0 {
			text += " (" + strings.Join(o.Fix.Commands, "; ") + ")"
		}
	}
	return text
}

// age is how long the obstacle that is there has been there.
func (d *doubts) age(now time.Time) time.Duration { return now.Sub(d.now.since) }

// next is when there is something to judge though nothing happens; zero where there is not.
func (d *doubts) next() time.Time {
	var wake time.Time
	for _, known := range d.all {
		at := known.last.Add(lull)
		if known == d.now {
			at = known.since.Add(known.Patience)
		}
		if wake.IsZero() || at.Before(wake) {
			wake = at
		}
	}
	return wake
}
