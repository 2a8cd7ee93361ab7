package apply

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/kube"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/report"
)

// obstacle returns an obstacle of a pod that may last as long as patience.
func obstacle(id check.ID, pod string, patience time.Duration) *check.Obstacle {
	return &check.Obstacle{Patience: patience, Finding: check.Finding{
		Check: id, Status: check.Fail, Subject: check.ParseRef("pod/" + pod), Summary: string(id) + " of " + pod,
		Fix: &check.Fix{Text: "Look at it.", Commands: []string{"kubectl describe pod " + pod}},
	}}
}

// moment is the state of a cluster at a time.
type moment struct {
	at    time.Duration
	stuck *check.Obstacle
	lost  bool
	done  bool
}

// history yields the states of moments, until the context ends.
type history []moment

func (h history) Watch(ctx context.Context, _ kube.Want) iter.Seq2[cluster.State, error] {
	return func(yield func(cluster.State, error) bool) {
		begun := time.Now()
		for _, m := range h {
			var err error
			if m.lost {
				err = errors.New("connection refused")
			}
			select {
			case <-time.After(time.Until(begun.Add(m.at))):
			case <-ctx.Done():
				return
			}
			if !yield(cluster.State{Taken: begun.Add(m.at)}, err) {
				return
			}
		}
		<-ctx.Done()
	}
}

// since returns the condition of a history that began then.
func (h history) since(begun time.Time) plan.Condition {
	return func(s cluster.State) plan.Progress {
		i := slices.IndexFunc(h, func(m moment) bool { return begun.Add(m.at).Equal(s.Taken) })
		return plan.Progress{Stuck: h[i].stuck, Done: h[i].done}
	}
}

// TestGivingUp: a transient error ends the wait when it lasts, but not when it comes and goes.
func TestGivingUp(t *testing.T) {
	const mount, network, image check.ID = "volume-not-ready", "sandbox-failed", "image-pull"
	passing := func(id check.ID) *check.Obstacle { return obstacle(id, "a", 2*time.Minute) }
	given, none := 10*time.Second, time.Duration(0)
	for name, test := range map[string]struct {
		patience *time.Duration
		history  history
		limit    time.Duration // of the wait; 0: it gives up or is done
		want     time.Duration // when the wait ends
		says     []string      // beginnings of lines
	}{
		"nothing is wrong": {history: history{{at: 0}}, limit: time.Hour, want: time.Hour},
		"permanent error":  {history: history{{at: 0, stuck: obstacle(image, "a", 0)}}, want: 0},
		"transient error, resolved": {
			history: history{{at: 0, stuck: passing(mount)}, {at: 10 * time.Second}},
			limit:   time.Hour,
			want:    time.Hour,
			says: []string{
				"Waiting up to 2m0s for Kubernetes to retry: volume-not-ready of a",
				"  If it persists: Look at it. (kubectl describe pod a)",
				"Resolved: volume-not-ready of a",
			},
		},
		"transient error that lasts": {
			history: history{{at: 0, stuck: passing(mount)}},
			want:    2 * time.Minute,
			says:    []string{"Waiting up to", "  If it"},
		},
		"transient error that lasts with a new text": {
			history: history{
				{at: 0, stuck: passing(mount)},
				{at: time.Minute, stuck: passing(mount)},
				{at: 119 * time.Second, stuck: passing(mount)},
			},
			want: 2 * time.Minute,
			says: []string{"Waiting up to", "  If it"},
		},
		"pod that is recreated and fails again": {
			history: history{
				{at: 0, stuck: passing(mount)},
				{at: 50 * time.Second},
				{at: 55 * time.Second, stuck: passing(mount)},
				{at: 100 * time.Second},
				{at: 110 * time.Second, stuck: passing(mount)},
			},
			want: 2 * time.Minute,
			says: []string{"Waiting up to", "  If it"},
		},
		"transient error that returns after it was resolved": {
			history: history{
				{at: 0, stuck: passing(mount)},
				{at: 60 * time.Second},
				{at: 100 * time.Second, stuck: passing(mount)},
			},
			want: 220 * time.Second,
			says: []string{"Waiting up to", "  If it", "Resolved", "Waiting up to", "  If it"},
		},
		"another error follows": {
			history: history{{at: 0, stuck: passing(mount)}, {at: 100 * time.Second, stuck: passing(network)}},
			want:    220 * time.Second,
			says: []string{
				"Waiting up to 2m0s for Kubernetes to retry: volume", "  If it",
				"Waiting up to 2m0s for Kubernetes to retry: sandbox", "  If it",
			},
		},
		"same error of another pod": {
			history: history{
				{at: 0, stuck: passing(mount)},
				{at: 100 * time.Second, stuck: obstacle(mount, "b", 2*time.Minute)},
			},
			want: 220 * time.Second,
			says: []string{"Waiting", "  If", "Waiting", "  If"},
		},
		"transient error becomes permanent": {
			history: history{{at: 0, stuck: passing(mount)}, {at: 5 * time.Second, stuck: obstacle(mount, "a", 0)}},
			want:    5 * time.Second,
			says:    []string{"Waiting", "  If"},
		},
		"API server unreachable in between": {
			history: history{
				{at: 0, stuck: passing(mount)},
				{at: 60 * time.Second, lost: true},
				{at: 6 * time.Minute, stuck: passing(mount)},
			},
			want: 8 * time.Minute,
			says: []string{"Waiting", "  If", "Waiting", "  If"},
		},
		"done despite the error": {
			history: history{{at: 0, stuck: passing(mount)}, {at: time.Minute, done: true}},
			want:    time.Minute,
			says:    []string{"Waiting", "  If"},
		},
		"less patience": {
			patience: &given,
			history:  history{{at: 0, stuck: passing(mount)}},
			want:     10 * time.Second,
			says:     []string{"Waiting up to 10s", "  If"},
		},
		"no patience": {patience: &none, history: history{{at: 0, stuck: passing(mount)}}, want: 0},
		"patience does not apply to permanent errors": {
			patience: &given,
			history:  history{{at: 0, stuck: obstacle(image, "a", 0)}},
			want:     0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var out bytes.Buffer
				begun := time.Now()
				wait := Wait{Limit: test.limit, Patience: test.patience, Live: &report.Live{W: &out}}
				err := Follow(t.Context(), test.history, test.history.since(begun), wait)
				done := slices.ContainsFunc(test.history, func(m moment) bool { return m.done })
				if gaveUp := errors.Is(err, errGaveUp); gaveUp != (test.limit == 0 && !done) {
					t.Errorf("error: %v", err)
				}
				if got := time.Since(begun); got != test.want {
					t.Errorf("it ended after %v, want %v", got, test.want)
				}
				said, _, _ := strings.Cut(out.String(), "fail: ")
				if diff := cmp.Diff(test.says, begins(said, test.says)); diff != "" {
					t.Errorf("lines (-want +got):\n%s\n%s", diff, out.String())
				}
			})
		})
	}
}

// begins returns the lines of a text, each cut to the length of the wanted one.
func begins(text string, wanted []string) []string {
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSuffix(line, "\n"); strings.HasPrefix(line, "the API server") {
			continue
		}
		if i := len(lines); i < len(wanted) {
			line = line[:min(len(line), len(wanted[i]))]
		}
		lines = append(lines, line)
	}
	return lines
}

// scripted is a watch that yields states or errors, and ends with the context or, if it is broken, after them.
type scripted struct {
	states []cluster.State
	errs   []error
	broken bool
}

func (s scripted) Watch(ctx context.Context, _ kube.Want) iter.Seq2[cluster.State, error] {
	return func(yield func(cluster.State, error) bool) {
		for _, state := range s.states {
			if !yield(state, nil) {
				return
			}
		}
		for _, err := range s.errs {
			if !yield(cluster.State{}, err) {
				return
			}
		}
		if !s.broken {
			<-ctx.Done()
		}
	}
}

// TestEnds: what a wait returns and says at its end.
func TestEnds(t *testing.T) {
	one := []cluster.State{{}}
	const resume, onwards = "railhead status a", "; it continues in the cluster, follow it with: railhead status a"
	stuck := obstacle("volume-not-ready", "a", 2*time.Minute)
	for name, test := range map[string]struct {
		watch     scripted
		progress  plan.Progress
		interrupt bool
		noResume  bool
		err       string
		said      string
	}{
		"done": {
			watch:    scripted{states: one},
			progress: plan.Progress{Done: true, Text: "a: all 2 pods ready"},
			said:     "a: all 2 pods ready\n",
		},
		"stuck": {
			watch:    scripted{states: one},
			progress: plan.Progress{Text: "a: 0 of 2 pods ready", Stuck: obstacle("image-pull", "a", 0)},
			err:      "it will not succeed without a fix",
			said: "a: 0 of 2 pods ready\nfail: pod/a: image-pull of a [image-pull]\n" +
				"    fix (): Look at it.\n        kubectl describe pod a\n",
		},
		"stuck for too long": {
			watch:    scripted{states: one},
			progress: plan.Progress{Text: "a: 0 of 2 pods ready", Stuck: obstacle("image-pull", "a", time.Minute)},
			err:      "it will not succeed without a fix: the error has lasted 1m0s; to wait longer, use --patience",
			said: "a: 0 of 2 pods ready\nWaiting up to 1m0s for Kubernetes to retry: image-pull of a [image-pull]\n" +
				"  If it persists: Look at it. (kubectl describe pod a)\nfail: pod/a: image-pull of a [image-pull]\n" +
				"    fix (): Look at it.\n        kubectl describe pod a\n",
		},
		"time-out": {
			watch:    scripted{states: one},
			progress: plan.Progress{Text: "a: 0 of 2 pods ready"},
			err:      "not done after 1m30s: a: 0 of 2 pods ready" + onwards,
			said:     "a: 0 of 2 pods ready\n",
		},
		"time-out with nothing to resume": {
			watch:    scripted{states: one},
			progress: plan.Progress{Text: "a: 0 of 2 pods ready"},
			noResume: true,
			err:      "not done after 1m30s: a: 0 of 2 pods ready",
			said:     "a: 0 of 2 pods ready\n",
		},
		"time-out before the first state": {err: "not done after 1m30s: waiting for the cluster" + onwards},
		"time-out while stuck": {
			watch:    scripted{states: one},
			progress: plan.Progress{Text: "a: 0 of 2 pods ready", Stuck: stuck},
			err:      "not done after 1m30s: a: 0 of 2 pods ready" + onwards,
			said: "a: 0 of 2 pods ready\nWaiting up to 2m0s for Kubernetes to retry: volume-not-ready of a [volume-not-ready]\n" +
				"  If it persists: Look at it. (kubectl describe pod a)\nfail: pod/a: volume-not-ready of a [volume-not-ready]\n" +
				"    fix (): Look at it.\n        kubectl describe pod a\n",
		},
		"time-out with a doubt": {
			watch: scripted{states: one},
			progress: plan.Progress{
				Text:  "a: 0 of 2 pods ready",
				Doubt: &check.Finding{Check: "node-overload", Status: check.Warn, Summary: "the node is busy"},
			},
			err:  "not done after 1m30s: a: 0 of 2 pods ready" + onwards,
			said: "a: 0 of 2 pods ready\nwarn: the node is busy [node-overload]\n",
		},
		"time-out in a queue": {
			watch:    scripted{states: one},
			progress: plan.Progress{Text: "a waits in queue b", Queued: true},
			said:     "a waits in queue b\na waits in queue b" + onwards + "\n",
		},
		"time-out without the API server": {
			watch: scripted{states: one, errs: []error{errors.New("connection refused")}},
			progress: plan.Progress{
				Text:  "a: 0 of 2 pods ready",
				Doubt: &check.Finding{Check: "node-overload", Status: check.Warn, Summary: "the node is busy"},
			},
			err: "not done after 1m30s: a: 0 of 2 pods ready" + onwards,
			said: "a: 0 of 2 pods ready\n" +
				"the API server does not answer, retrying: connection refused\n",
		},
		"watch lost": {
			watch: scripted{states: one, errs: []error{kube.ErrUnauthorized}, broken: true},
			err:   "cannot watch the cluster: " + kube.ErrUnauthorized.Error() + onwards,
			said:  "the API server does not answer, retrying: " + kube.ErrUnauthorized.Error() + "\n",
		},
		"interrupted": {
			watch:     scripted{states: one},
			progress:  plan.Progress{Text: "a: 0 of 2 pods ready", Stuck: stuck},
			interrupt: true,
			err:       "interrupted",
			said: "a: 0 of 2 pods ready\nWaiting up to 2m0s for Kubernetes to retry: volume-not-ready of a [volume-not-ready]\n" +
				"  If it persists: Look at it. (kubectl describe pod a)\n" +
				"Stopped watching; the change continues in the cluster. Follow it with: railhead status a\n",
		},
		"interrupted with nothing to resume": {
			watch:     scripted{states: one},
			interrupt: true,
			noResume:  true,
			err:       "interrupted",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, interrupt := context.WithCancel(t.Context())
				defer interrupt()
				if test.interrupt {
					time.AfterFunc(time.Minute, interrupt)
				}
				var out bytes.Buffer
				wait := Wait{Limit: 90 * time.Second, Resume: resume, Live: &report.Live{W: &out}}
				if test.noResume {
					wait.Resume = ""
				}
				err := Follow(ctx, test.watch, func(cluster.State) plan.Progress { return test.progress }, wait)
				if got := textOf(err); got != test.err {
					t.Errorf("error %q, want %q", got, test.err)
				}
				if interrupted := errors.Is(err, ErrInterrupted); interrupted != test.interrupt {
					t.Errorf("interrupted: %v", interrupted)
				}
				if diff := cmp.Diff(test.said, out.String()); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		})
	}
}

// textOf returns the text of an error; empty for nil.
func textOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
