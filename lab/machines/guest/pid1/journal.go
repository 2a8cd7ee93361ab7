package pid1

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/railhead/railhead/lab/machines/guest"
)

// journal records the machine's progress, for its console and its agent.
type journal struct {
	console io.Writer            // takes one line per call
	uptime  func() time.Duration // since the kernel started

	mu      sync.Mutex
	status  guest.Status
	changed chan struct{} // closed when there is more
}

func newJournal(console io.Writer, uptime func() time.Duration) *journal {
	return &journal{console: console, uptime: uptime, changed: make(chan struct{})}
}

// stage notes that a part of the way is done.
func (j *journal) stage(name string) {
	at := j.uptime()
	j.say("%6.2f s  %s", at.Seconds(), name)
	j.update(func(s *guest.Status) { s.Stages = append(s.Stages, guest.Stage{Name: name, At: at}) })
}

// ready notes that there is nothing left to do.
func (j *journal) ready() {
	j.say("%6.2f s  ready", j.uptime().Seconds())
	j.update(func(s *guest.Status) { s.Ready = true })
}

// fail notes why the machine will not get ready.
func (j *journal) fail(err error) {
	j.say("FAILED: %v", err)
	j.update(func(s *guest.Status) { s.Ready, s.Failed = false, err.Error() })
}

func (j *journal) say(format string, args ...any) {
	fmt.Fprintf(j.console, format, args...)
}

func (j *journal) update(change func(*guest.Status)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	change(&j.status)
	close(j.changed)
	j.changed = make(chan struct{})
}

// Status returns when there are more stages than seen, when nothing more will come, or when the context ends.
func (j *journal) Status(ctx context.Context, seen int) guest.Status {
	for {
		j.mu.Lock()
		s, changed := j.status, j.changed
		s.Stages = slices.Clone(s.Stages)
		j.mu.Unlock()
		if len(s.Stages) > seen || s.Ready || s.Failed != "" {
			return s
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return s
		}
	}
}

// uptime is the time since the kernel started.
func uptime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		return 0
	}
	return time.Duration(t.Nano())
}
