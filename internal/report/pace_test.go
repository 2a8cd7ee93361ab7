package report

import (
	"testing"
	"time"
)

// TestPace: while a bar stands still, its note does not change, however long that takes.
func TestPace(t *testing.T) {
	begun := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	var p Pace
	for _, step := range []struct {
		after time.Duration
		count int
		want  string
	}{
		{0, 2, ""},
		{5 * time.Minute, 2, ""},
		{10 * time.Minute, 3, "1 in 10m0s, the last at 08:10:00"},
		{40 * time.Minute, 3, "1 in 10m0s, the last at 08:10:00"},
		{50 * time.Minute, 5, "3 in 50m0s, the last at 08:50:00"},
		{51 * time.Minute, 4, "2 in 50m0s, the last at 08:50:00"}, // a pod failed
		{52 * time.Minute, 1, ""},
		{60 * time.Minute, 6, "4 in 1h0m0s, the last at 09:00:00"},
		{70 * time.Minute, 13, ""},
	} {
		bar := Bar{Name: "worker", Count: step.count, Total: 13}
		if got := p.Note(bar, begun.Add(step.after)); got != step.want {
			t.Errorf("%d after %v: %q, want %q", step.count, step.after, got, step.want)
		}
	}
}
