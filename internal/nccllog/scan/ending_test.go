package scan

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestSinceStep: the time since the last step is known if both times are of one clock, or of zones that differ by
// quarters of an hour.
func TestSinceStep(t *testing.T) {
	at := func(text string) time.Time {
		found, err := time.Parse(time.DateTime, text)
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	const local = "[2026-03-02 09:59:40] step 1 loss 3\n[2026-03-02 09:59:50] step 2 loss 3\n[2026-03-02 09:59:58] step 3 loss 3"
	mllog := func(ms int64) string {
		return fmt.Sprintf(`:::MLLOG {"time_ms": %d, "key": "train_loss", "value": 1.2}`, ms)
	}
	utc := at("2026-03-02 15:59:50").UnixMilli()
	for name, c := range map[string]struct {
		tail  string
		until string
		want  time.Duration
		known bool
	}{
		"the same clock":       {local, "2026-03-02 10:00:00", 2 * time.Second, true},
		"an hour":              {local, "2026-03-02 11:00:00", time.Hour + 2*time.Second, true},
		"before the last step": {local, "2026-03-02 09:59:00", -58 * time.Second, true},
		"another zone":         {mllog(utc), "2026-03-02 10:00:00", 10 * time.Second, true},
		"another zone, late":   {mllog(utc), "2026-03-02 10:05:50", 6 * time.Minute, true},
		"no time":              {"step 1 loss 3", "2026-03-02 10:00:00", 0, false},
		"no step":              {"[2026-03-02 09:59:40] hello", "2026-03-02 10:00:00", 0, false},
	} {
		e := EndingOf(10, Tail(c.tail))
		if got, known := e.SinceStep(at(c.until)); got != c.want || known != c.known {
			t.Errorf("%s: %v %v, want %v %v", name, got, known, c.want, c.known)
		}
	}
	if usual := EndingOf(3, Tail(local)).Usual(); usual != 30*time.Second {
		t.Errorf("steps of 10 s and 8 s: %v", usual)
	}
}

// TestCounters: the values of a counter show that a training goes on; what one step prints does not.
func TestCounters(t *testing.T) {
	for name, c := range map[string]struct {
		tail     string
		advanced int
	}{
		"steps":                     {"step 1\nstep 2\nstep 3\nstep 4", 2},
		"ranks at one step":         {"0: step 7 loss 1.1\n1: step 7 loss 1.2\n2: step 7 loss 1.3", 0},
		"of all":                    {"Epoch: [3]  [ 20/99]\nEpoch: [3]  [ 40/99]\nEpoch: [3]  [ 60/99]", 1},
		"a bar":                     {"10%| 1/10 [00:01, 1.2it/s]\r20%| 2/10 [00:02, 1.2it/s]\r30%| 3/10 [00:03, 1.2it/s]", 1},
		"measures of nothing known": {"loss 1.1\nloss 1.2\nloss 1.3", 0},
	} {
		n := strings.Count(c.tail, "\n") + 1
		if got := EndingOf(n, Tail(c.tail)).Advanced; got != c.advanced {
			t.Errorf("%s: %d, want %d", name, got, c.advanced)
		}
	}
}
