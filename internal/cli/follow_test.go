package cli

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
)

// obstacle returns an obstacle of a pod that may last as long as patience.
func obstacle(id check.ID, pod string, patience time.Duration) *check.Obstacle {
	return &check.Obstacle{Patience: patience, Finding: check.Finding{
		Check: id, Status: check.Fail, Subject: check.ParseRef("pod/" + pod), Summary: string(id) + " of " + pod,
		Fix: &check.Fix{Text: "Look at it.", Commands: []string{"kubectl describe pod " + pod}},
	}}
}

// moment is the state at a time; with same, only time has passed.
type moment struct {
	at    time.Duration
	stuck *check.Obstacle
	same  bool
	lost  bool
	done  bool
}

const never = time.Duration(-1)

// TestGivingUp: a transient error ends the wait when it lasts, but not when it comes and goes.
func TestGivingUp(t *testing.T) {
	const mount, network, image check.ID = "volume-not-ready", "sandbox-failed", "image-pull"
	passing := func(id check.ID) *check.Obstacle { return obstacle(id, "a", 2*time.Minute) }
	given, none := 10*time.Second, time.Duration(0)
	for name, test := range map[string]struct {
		patience *time.Duration
		moments  []moment
		want     time.Duration // when the wait gives up
		says     []string      // beginnings of lines
	}{
		"nothing is wrong": {moments: []moment{{at: 0}, {at: time.Hour, same: true}}, want: never},
		"permanent error":  {moments: []moment{{at: 0, stuck: obstacle(image, "a", 0)}}, want: 0},
		"transient error, resolved": {
			moments: []moment{
				{at: 0, stuck: passing(mount)},
				{at: 10 * time.Second},
				{at: 50 * time.Second, same: true},
				{at: time.Hour, same: true},
			},
			want: never,
			says: []string{
				"Waiting up to 2m0s for Kubernetes to retry: volume-not-ready of a",
				"  If it persists: Look at it. (kubectl describe pod a)",
				"Resolved: volume-not-ready of a",
			},
		},
		"transient error that lasts": {
			moments: []moment{
				{at: 0, stuck: passing(mount)},
				{at: 119 * time.Second, same: true},
				{at: 2 * time.Minute, same: true},
			},
			want: 2 * time.Minute,
			says: []string{"Waiting up to", "  If it"},
		},
		"transient error that lasts with a new text": {moments: []moment{
			{at: 0, stuck: passing(mount)},
			{at: time.Minute, stuck: passing(mount)},
			{at: 121 * time.Second, stuck: passing(mount)},
		},
			want: 121 * time.Second, says: []string{"Waiting up to", "  If it"}},
		"pod that is recreated and fails again": {moments: []moment{
			{at: 0, stuck: passing(mount)},
			{at: 50 * time.Second},
			{at: 55 * time.Second, stuck: passing(mount)},
			{at: 100 * time.Second},
			{at: 110 * time.Second, stuck: passing(mount)},
			{at: 120 * time.Second, same: true},
		},
			want: 2 * time.Minute, says: []string{"Waiting up to", "  If it"}},
		"transient error that returns after it was resolved": {moments: []moment{
			{at: 0, stuck: passing(mount)},
			{at: 60 * time.Second},
			{at: 91 * time.Second, same: true},
			{at: 100 * time.Second, stuck: passing(mount)},
			{at: 200 * time.Second, same: true},
		},
			want: never, says: []string{"Waiting up to", "  If it", "Resolved", "Waiting up to", "  If it"}},
		"another error follows": {moments: []moment{
			{at: 0, stuck: passing(mount)},
			{at: 100 * time.Second, stuck: passing(network)},
			{at: 130 * time.Second, same: true},
			{at: 219 * time.Second, same: true},
		},
			want: never, says: []string{
				"Waiting up to 2m0s for Kubernetes to retry: volume", "  If it",
				"Waiting up to 2m0s for Kubernetes to retry: sandbox", "  If it",
			}},
		"same error of another pod": {
			moments: []moment{
				{at: 0, stuck: passing(mount)},
				{at: 100 * time.Second, stuck: obstacle(mount, "b", 2*time.Minute)},
				{at: 130 * time.Second, same: true},
			},
			want: never,
			says: []string{"Waiting", "  If", "Waiting", "  If"},
		},
		"transient error becomes permanent": {
			moments: []moment{{at: 0, stuck: passing(mount)}, {at: 5 * time.Second, stuck: obstacle(mount, "a", 0)}},
			want:    5 * time.Second,
			says:    []string{"Waiting", "  If"},
		},
		"API server unreachable in between": {moments: []moment{
			{at: 0, stuck: passing(mount)},
			{at: 60 * time.Second, lost: true},
			{at: 5 * time.Minute, same: true},
			{at: 6 * time.Minute, stuck: passing(mount)},
			{at: 7 * time.Minute, same: true},
		},
			want: never, says: []string{"Waiting", "  If", "Waiting", "  If"}},
		"done despite the error": {
			moments: []moment{{at: 0, stuck: passing(mount)}, {at: time.Minute, done: true}},
			want:    never,
			says:    []string{"Waiting", "  If"},
		},
		"less patience": {
			patience: &given,
			moments:  []moment{{at: 0, stuck: passing(mount)}, {at: 10 * time.Second, same: true}},
			want:     10 * time.Second,
			says:     []string{"Waiting up to 10s", "  If"},
		},
		"no patience": {patience: &none, moments: []moment{{at: 0, stuck: passing(mount)}}, want: 0},
		"patience does not apply to permanent errors": {
			patience: &given,
			moments:  []moment{{at: 0, stuck: obstacle(image, "a", 0)}},
			want:     0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			begun := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
			var out bytes.Buffer
			w := newWait(Streams{Err: &out}, waitOptions{retry: test.patience})
			got := never
			for _, m := range test.moments {
				now := begun.Add(m.at)
				progress := plan.Progress{Stuck: m.stuck, Done: m.done}
				var err error
				if m.lost {
					err = errors.New("connection refused")
				}
				if !m.same && w.update(update{err: err}, func(cluster.State) plan.Progress { return progress }, now) {
					break
				}
				if w.overdue(now) != nil {
					got = m.at
					break
				}
				if next := w.transient.Deadline(); !next.IsZero() && !next.After(now) {
					t.Fatalf("at %v it wakes at %v, again and again", m.at, next.Sub(begun))
				}
			}
			if got != test.want {
				t.Errorf("given up after %v, want %v", got, test.want)
			}
			if diff := cmp.Diff(test.says, begins(out.String(), test.says)); diff != "" {
				t.Errorf("lines (-want +got):\n%s\n%s", diff, out.String())
			}
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

func TestPatience(t *testing.T) {
	for text, want := range map[string]time.Duration{"90s": 90 * time.Second, "0": 0, "1h": time.Hour} {
		cmd, got := &cobra.Command{}, (*time.Duration)(nil)
		retryFlag(cmd, &got)
		if err := cmd.Flags().Set("patience", text); err != nil || got == nil || *got != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "ten", "-1s", "5"} {
		cmd, got := &cobra.Command{}, (*time.Duration)(nil)
		retryFlag(cmd, &got)
		if err := cmd.Flags().Set("patience", text); err == nil || got != nil {
			t.Errorf("%q is taken as %v", text, got)
		}
	}
}

func TestGaveUp(t *testing.T) {
	for want, patience := range map[string]time.Duration{
		"it will not succeed without a fix": 0,
		"it will not succeed without a fix: the error has lasted 2m0s; " +
			"to wait longer, use --patience": 2 * time.Minute,
	} {
		if err := gaveUp(check.Obstacle{Patience: patience}); !errors.Is(err, errGaveUp) || err.Error() != want {
			t.Errorf("%v", err)
		}
	}
}
