//go:build vm

package fabrictest

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/railhead/railhead/lab/judge/fault"
	"github.com/railhead/railhead/lab/machines/fabric"
	"github.com/railhead/railhead/lab/machines/vm"
)

// tally is the summary of the tests, printed when all of them have ended.
type tally struct {
	mu     sync.Mutex
	faults []*story
	// measured are the faults that doctor named first when it measured, by name: another test does so, between pods
	// of a job.
	measured map[string]string
	wires    []*wireStory
	ups      []up
	runBy    vm.Choice
}

// story is the row of one fault. What was not reached stays as it is.
type story struct {
	fault  fault.Fault
	made   bool
	saw    string // of its symptom
	said   string // by railhead-pod
	named  string // by doctor, first, and from where
	looked bool   // doctor did
	alarms []string
	healed bool
	ended  bool
	wrong  bool // something about it was not as it was to be
	took   time.Duration
}

// up is the start of one lab.
type up struct {
	what string
	took time.Duration
}

// tells begins the row of a fault: it is complete when the test has ended.
func tells(t *testing.T, x fault.Fault) *story {
	s := &story{fault: x}
	results.mu.Lock()
	defer results.mu.Unlock()
	results.faults = append(results.faults, s)
	begun := time.Now()
	t.Cleanup(func() {
		results.mu.Lock()
		defer results.mu.Unlock()
		s.took, s.wrong, s.ended = time.Since(begun), t.Failed(), true
	})
	return s
}

// started notes how long a lab took to come up.
func started(t *testing.T, f *fabric.Fabric, begun time.Time) {
	what := fmt.Sprintf("%s: %d machines", t.Name(), len(f.Machines))
	if f.ControlPlane != nil {
		what = fmt.Sprintf("%s: Kubernetes on %d machines", t.Name(), len(f.Machines))
	}
	results.mu.Lock()
	defer results.mu.Unlock()
	results.ups, results.runBy = append(results.ups, up{what, time.Since(begun)}), f.RunBy
}

// write prints the table of faults, in the form of docs/lab.md, then times and memory.
func (r *tally) write(w io.Writer, whole time.Duration, peak int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.faults) > 0 {
		fmt.Fprintf(w, "\n| fault | what is wrong | made | seen | said by railhead-pod | doctor named first | false alarms | healed | seconds | as it should be |\n|---|---|---|---|---|---|---|---|---|---|\n")
	}
	for _, s := range r.faults {
		fmt.Fprintf(w, "| %s | %s | %s | %s | %s | %s | %s | %s | %.0f | %s |\n", s.fault.Name, s.fault.Title, yes(s.made), orNothing(s.saw), orNothing(s.said),
			orNothing(cmp.Or(s.named, r.measured[s.fault.Name])), s.falseAlarms(), yes(s.healed), s.took.Seconds(), yes(s.ended && !s.wrong))
	}
	if len(r.wires) > 0 {
		fmt.Fprint(w, "\n| fault of a connection | what is wrong | connections | said by railhead wire | false alarms | seconds | "+
			"as it should be |\n|---|---|---|---|---|---|---|\n")
	}
	for _, s := range r.wires {
		fmt.Fprintf(w, "| %s | %s | %s | %s | %s | %.0f | %s |\n", s.fault.name, s.fault.title, s.connections(),
			orNothing(s.said), cmp.Or(strings.Join(s.alarms, ", "), "none"), s.took.Seconds(), yes(s.right))
	}
	fmt.Fprintln(w)
	for _, u := range r.ups {
		fmt.Fprintf(w, "up in %4.0f s: %s\n", u.took.Seconds(), u.what)
	}
	if len(r.ups) > 0 {
		fmt.Fprintln(w, r.runBy)
	}
	fmt.Fprintf(w, "whole run: %.0f s; the lab's processes had at most %d MB of memory at a time\n", whole.Seconds(), peak/1_000_000)
}

// falseAlarms returns the findings of doctor besides the fault.
func (s *story) falseAlarms() string {
	switch {
	case !s.looked:
		return "not looked"
	case len(s.alarms) == 0:
		return "none"
	}
	return strings.Join(s.alarms, ", ")
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "NO"
}

func orNothing(s string) string { return cmp.Or(strings.Join(strings.Fields(s), " "), "nothing") }
