//go:build vm

package fabrictest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/rules"
	"github.com/railhead/railhead/internal/rules/pods"
	"github.com/railhead/railhead/lab/judge/fault"
	"github.com/railhead/railhead/lab/machines/vm"
)

// finding is one of doctor's, as far as two of them are compared.
type finding struct {
	Check   check.ID
	About   string
	Summary string
}

func (f finding) String() string { return fmt.Sprintf("[%s] %s: %s", f.Check, f.About, f.Summary) }

// key leaves out the words, in which numbers may be.
func (f finding) key() string { return string(f.Check) + " " + f.About }

// findings are doctor's findings, by the place from which it looked.
type findings map[fault.View][]finding

// beside returns the findings that were not there before, in their order.
func beside(now, before []finding) []finding {
	return slices.DeleteFunc(slices.Clone(now), func(f finding) bool {
		return slices.ContainsFunc(before, func(b finding) bool { return b.key() == f.key() })
	})
}

// keys are findings without their words, in no order.
func (all findings) keys() map[fault.View][]string {
	keys := map[fault.View][]string{}
	for view, found := range all {
		for _, f := range found {
			keys[view] = append(keys[view], f.key())
		}
		slices.Sort(keys[view])
	}
	return keys
}

// examined returns doctor's findings on the machine with the fault: in the pod that it stands for, on it as a node, and
// in that pod and its peer together.
func (p pair) examined(t *testing.T, within []string) findings {
	t.Helper()
	// What `railhead-pod run` left is the environment of a command that has ended.
	if _, err := p.shell(t.Context(), "rm -rf /run/railhead"); err != nil {
		t.Fatal(err)
	}
	return findings{
		fault.InPod:    p.doctor(t, within),
		fault.OnNode:   p.doctor(t, nil, "--scope=node"),
		fault.Together: p.compared(t, within),
	}
}

// doctor runs railhead-pod doctor on the machine with the fault.
func (p pair) doctor(t *testing.T, within []string, args ...string) []finding {
	t.Helper()
	r := p.railhead(t, within, append([]string{"doctor", "-o", "json"}, args...)...)
	var report check.Report
	if err := json.Unmarshal([]byte(r.Stdout), &report); err != nil {
		t.Fatalf("doctor ends with %d: %v\n%s%s", r.Code, err, r.Stdout, r.Stderr)
	}
	var found []finding
	for _, f := range report.AtLeast(check.Unknown) {
		summary := f.Summary
		for _, e := range f.Evidence {
			summary += "; " + e.String()
		}
		found = append(found, finding{f.Check, f.Subject.String(), summary})
	}
	return found
}

// compared returns doctor's findings in two pods of one job.
func (p pair) compared(t *testing.T, within []string) []finding {
	t.Helper()
	look := func(v *vm.VM, within []string) rules.Machine {
		r := podRun(t, v, within, "snapshot")
		var s host.Snapshot
		if err := json.Unmarshal([]byte(r.Stdout), &s); err != nil {
			t.Fatalf("snapshot ends with %d: %v\n%s", r.Code, err, r.Stderr)
		}
		node := v.Spec.Config.Name
		return rules.Machine{Ref: check.PodRef("train", "of-"+node), Node: node, Group: "job/train", Snapshot: s}
	}
	return problems(rules.Diagnose(rules.Case{
		Machines: rules.JudgeAll([]rules.Machine{look(p.broken, within), look(p.other, nil)}),
	}))
}

// unexamined reports whether a finding says what follows for pods that a fault keeps from running: nothing in them was
// examined.
func unexamined(f finding) bool {
	return f.Check == pods.PodPending && strings.HasSuffix(f.Summary, "what does not run was not examined")
}

// problems are a diagnosis' findings, one for each machine that has it.
func problems(d rules.Diagnosis) []finding {
	var found []finding
	for _, problem := range d.Problems {
		for _, m := range problem.Machines {
			found = append(found, finding{problem.Check, m.String(), problem.Summary})
		}
		if len(problem.Machines) == 0 {
			found = append(found, finding{problem.Check, problem.Subject.String(), problem.Summary})
		}
	}
	return found
}

// watched returns doctor's findings on the machine while RDMA tries to move bytes over the first rail.
func (p pair) watched(t *testing.T) []finding {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			_, _ = p.bandwidth(ctx, 0) // what becomes of it is the counters' to tell
		}
	}()
	const long = 10 * time.Second
	found := p.doctor(t, nil, "--scope=node", "--watch="+long.String())
	stop()
	<-ended
	return found
}

// names wants doctor to name a fault first, from where it is to be seen, and nothing else from anywhere.
func (p pair) names(t *testing.T, x fault.Fault, within []string, before findings, row *story) {
	t.Helper()
	now := p.examined(t, within)
	was := maps.Clone(before)
	if x.Doctor.View == fault.Counted {
		now[fault.Counted], was[fault.Counted] = p.watched(t), before[fault.OnNode]
	}
	row.diagnosed(t, now, was)
}

// diagnosed notes what doctor says of a fault, and what else it says. A check that names the fault may do so from
// several places.
func (s *story) diagnosed(t *testing.T, now, before findings) {
	t.Helper()
	want := s.fault.Doctor
	s.looked = true
	for _, view := range slices.Sorted(maps.Keys(now)) {
		fresh := beside(now[view], before[view])
		if len(fresh) > 0 && view == want.View && fresh[0].Check == want.Check {
			s.named = fmt.Sprintf("`%s`, %s", want.Check, view)
		}
		for _, f := range fresh {
			if f.Check != want.Check && !unexamined(f) {
				s.alarms = append(s.alarms, string(f.Check))
				t.Errorf("%s, doctor says besides the fault: %s", view, f)
			}
		}
	}
	if s.named == "" && want.View != fault.Measured { // which takes a job
		t.Errorf("%s, doctor does not name %s first: %v", want.View, want.Check, beside(now[want.View], before[want.View]))
	}
}

// calm wants doctor to find what it found before the fault.
func (p pair) calm(t *testing.T, before findings) {
	t.Helper()
	if diff := cmp.Diff(before.keys(), p.examined(t, nil).keys()); diff != "" {
		t.Errorf("doctor finds something else than before the fault (-before +after):\n%s", diff)
	}
}
