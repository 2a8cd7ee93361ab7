package podrun

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// recorded returns a recorder of a detached command that runs, in a new folder.
func recorded(t *testing.T) *recorder {
	t.Helper()
	return &recorder{Detached: Detached{t.TempDir(), "night"}}
}

var morning = time.Date(2026, 3, 2, 6, 0, 0, 0, time.UTC)

// shown returns what a reader of a command that has ended gets.
func shown(t *testing.T, d Detached, b Begin) string {
	t.Helper()
	var out bytes.Buffer
	if err := d.Follow(&out, b); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestRecorderFormat(t *testing.T) {
	r := recorded(t)
	r.record(morning, "stdout", []byte("one\ntw"))
	r.record(morning.Add(time.Second), "stderr", []byte("\n"))
	r.record(morning.Add(2*time.Second), "stdout", []byte("o\n"))
	const want = `at=0
2026-03-02T06:00:00.000000000Z stdout F one
2026-03-02T06:00:00.000000000Z stdout P tw
2026-03-02T06:00:01.000000000Z stderr F 
2026-03-02T06:00:02.000000000Z stdout F o
lost=the pod has no part of this run: it was replaced since
`
	if diff := cmp.Diff(want, shown(t, r.Detached, Begin{From: -1, Tail: -1})); diff != "" {
		t.Error(diff)
	}
}

func TestFollowBegins(t *testing.T) {
	r := recorded(t)
	begun := time.Now()
	for i, age := range []time.Duration{3 * time.Hour, 2 * time.Hour, time.Minute, 0} {
		r.record(begun.Add(-age), "stdout", fmt.Appendf(nil, "line %d\n", i))
	}
	for name, c := range map[string]struct {
		begin Begin
		first string
	}{
		"everything":          {Begin{From: -1, Tail: -1}, "line 0"},
		"the last two":        {Begin{From: -1, Tail: 2}, "line 2"},
		"nothing":             {Begin{From: -1, Tail: 0}, "lost="},
		"more than there are": {Begin{From: -1, Tail: 9}, "line 0"},
		"the last hour":       {Begin{From: -1, Tail: -1, Since: time.Hour}, "line 2"},
		"both":                {Begin{From: -1, Tail: 1, Since: time.Hour}, "line 3"},
		"a place":             {Begin{From: int64(len(timeForm) + len(" stdout F line 0\n"))}, "line 1"},
	} {
		got := strings.SplitN(shown(t, r.Detached, c.begin), "\n", 3)[1]
		if !strings.Contains(got, c.first) {
			t.Errorf("%s: %q, want %q", name, got, c.first)
		}
	}
}

// TestRecorderLimit writes more than is kept: the oldest output goes, and a reader that was there is told.
func TestRecorderLimit(t *testing.T) {
	r := recorded(t)
	line := []byte(strings.Repeat("x", 60<<10) + "\n")
	for range segmentBytes * (segmentsKept + 2) / len(line) {
		r.record(morning, "stdout", line)
	}
	all := r.segments()
	if len(all) != segmentsKept || all[0] == 0 {
		t.Fatalf("kept files: %v", all)
	}
	got := shown(t, r.Detached, Begin{From: 100})
	if want := fmt.Sprintf("at=100\nat=%d\n2026", all[0]); !strings.HasPrefix(got, want) {
		t.Errorf("it begins with %.60q, want %q", got, want)
	}
	if n := len(got); n > segmentBytes*segmentsKept+segmentBytes || n < segmentBytes*(segmentsKept-1) {
		t.Errorf("%d bytes kept", n)
	}
}
