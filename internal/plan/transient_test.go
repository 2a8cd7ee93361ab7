package plan

import (
	"testing"
	"time"

	"github.com/railhead/railhead/internal/check"
)

// TestWakes: a wait wakes when an error has lasted too long, without an update from the API server.
func TestWakes(t *testing.T) {
	begun := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	stuck := check.Obstacle{Patience: 2 * time.Minute, Finding: check.Finding{Check: "sandbox-failed"}}
	var d TransientErrors
	if !d.Deadline().IsZero() {
		t.Errorf("wakes at %v for nothing", d.Deadline())
	}
	d.Update(&stuck, begun)
	if got := d.Deadline().Sub(begun); got != 2*time.Minute {
		t.Errorf("wakes after %v", got)
	}
	d.Update(nil, begun.Add(time.Minute))
	if got := d.Deadline().Sub(begun); got != settleTime {
		t.Errorf("wakes after %v to say that it has passed", got)
	}
}
