package launch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/railhead/railhead/internal/kube"
	"github.com/railhead/railhead/internal/words"
)

// Attached says how a launch shows a run that goes on without it.
type Attached struct {
	Since time.Duration // begin with output of this age; 0: of any
	Tail  int           // begin with this many last lines; negative: all
	Stop  bool          // stop the run
}

var (
	errDetached = errors.New("detached")
	errStopped  = errors.New("stopped")
)

// ErrNoRun means that the pods of a job have no detached run.
var ErrNoRun = errors.New("no detached run")

// Attach returns a launch that shows or stops the newest of the runs in the pods.
func Attach(p Pods, streams Streams, targets []Target, runs []Run, how Attached) (*Session, error) {
	parts := Newest(runs)
	if len(parts) == 0 {
		return nil, ErrNoRun
	}
	l := New(p, streams, targets, parts[0].Command)
	l.ID, l.attached = parts[0].ID, &how
	for _, r := range l.ranks {
		for _, part := range parts {
			if part.Rank == r.Rank {
				r.dir, r.settings = part.dir, part.Settings
			}
		}
	}
	l.begun = parts[0].Started
	return l, nil
}

// Detach starts the command in all pods and leaves it there. The error says why nothing was started.
func (l *Session) Detach(ctx context.Context) error {
	err := l.Prepare(ctx)
	if err != nil {
		l.clear(ctx)
		return err
	}
	err = l.forEach(func(r *rank) error {
		args := append([]string{PodProgram, l.noteOf(r), trimmed(startScript)}, l.startArguments(r)...)
		_, err := l.runScript(ctx, r, nil, l.script(r, detachScript, args...))
		r.started = err == nil
		return err
	})
	if err == nil {
		l.console.say("Running in %s, detached: %s", words.Count(len(l.ranks), "pod"), commandLine(l.Command))
		return nil
	}
	ctx, cancel := Afterwards(ctx)
	defer cancel()
	_ = l.forEach(func(r *rank) error { // the error that prevented the start is returned
		if r.ctx = ctx; r.started {
			if err := l.signal(r, "KILL"); err != nil {
				l.console.say("%s: the command may still be running: %v", r, err)
			}
		}
		_, err := l.finishOnce(ctx, r, "kill")
		return err
	})
	return err
}

// introduce says which command is shown.
func (l *Session) introduce() {
	pods := words.Count(len(l.ranks), "pod")
	switch {
	case l.attached == nil:
		l.console.say("Running in %s: %s", pods, commandLine(l.Command))
	case !l.attached.Stop:
		l.console.say("Started in %s at %s: %s\nPress Ctrl-C to detach; the command goes on.",
			pods, l.begun.Format(time.RFC3339), commandLine(l.Command))
	}
}

// leave ends the view of a run that goes on. It reports whether this launch is only a view.
func (l *Session) leave(s *supervision, abandon context.CancelCauseFunc) bool {
	if l.attached == nil || l.attached.Stop {
		return false
	}
	s.why, s.stages, s.next = errDetached, nil, nil
	abandon(errDetached)
	return true
}

// begin returns the flags of follow: from the place that is known, or as the user wants.
func (a Attached) begin(place int64) []string {
	switch {
	case place >= 0:
		return []string{fmt.Sprintf("--from=%d", place)}
	case a.Stop: // the signal may arrive before the reader begins
		return []string{"--tail=10"}
	}
	return []string{fmt.Sprintf("--tail=%d", a.Tail), fmt.Sprintf("--since=%s", a.Since)}
}

// settling is the time in which an API server that has just started may deny rights that it has not read yet.
const settling = time.Minute

var errUnreadable = errors.New("its output cannot be read")

// follow shows the output of a rank until its command has ended, and connects again when the connection breaks. It
// gives up if output is cut short twice at one place, or if access is denied, unless that is just after a break.
func (l *Session) follow(r *rank, s kube.ExecOptions) (code int, at time.Time, err error) {
	d := &records{out: s.Stdout, errs: s.Stderr, place: -1}
	var broken time.Time // when the connection broke; zero: it works, or never did
	said := false
	cutAt := int64(-2) // the place where the output was last cut short; -2: none
	for {
		d.heard = false
		if err = l.followOnce(r, d, s); d.heard {
			broken = time.Time{}
		}
		cut := errors.Is(err, kube.ErrCutShort)
		if cut && d.place == cutAt {
			err = fmt.Errorf("%w: %w, also when asked again", errUnreadable, err)
		}
		switch {
		case d.lost != "":
			return 0, time.Now(), podLost(d.lost)
		case d.ended:
			return d.code, d.at, nil
		case r.ctx.Err() != nil || errors.As(err, new(*kube.Forbidden)) && time.Since(broken) > settling,
			errors.Is(err, errUnreadable):
			return 0, time.Now(), err
		case broken.IsZero():
			broken = time.Now()
			if !said {
				l.console.say("%s: the connection broke: %v; connecting again", r, err)
				said = true
			}
		}
		if d.partial = nil; cut {
			cutAt = d.place
		}
		select {
		case <-r.ctx.Done():
		case <-time.After(l.Patience.retry):
		}
	}
}

// followOnce passes on the output of a rank from the place where d is, until its command has ended or the connection
// breaks. It always returns an error: railhead-pod succeeds only after the end of the command, which is in d then.
func (l *Session) followOnce(r *rank, d *records, s kube.ExecOptions) error {
	problem := &kube.Capture{Limit: 4 << 10}
	s.Command = l.script(r, followScript, append([]string{PodProgram}, l.attached.begin(d.place)...)...)
	s.Stdout, s.Stderr = d, problem
	code, err := l.pods.Exec(r.ctx, r.Ref(), s)
	switch {
	case err != nil:
		return err
	case code != 0:
		return fmt.Errorf("%w: %s", errUnreadable, problem)
	}
	return kube.ErrCutShort
}
