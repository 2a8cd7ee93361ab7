package rules

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/rules/fleet"
	"github.com/railhead/railhead/internal/rules/machine"
	"github.com/railhead/railhead/internal/rules/rulestest"
)

func TestDiagnoseHealthy(t *testing.T) {
	d := Diagnose(Case{State: rulestest.Training(t), Machines: JudgeAll(rulestest.Job(t, 3))})
	if len(d.Problems) > 0 || d.Pods != 3 || d.Nodes != 0 || len(d.Passed) == 0 {
		t.Errorf("%+v", d)
	}
}

// A fault that several pods have is one problem, with its consequences under it.
func TestDiagnoseGroups(t *testing.T) {
	pods := rulestest.Job(t, 10)
	none, small := host.Know(host.Caps(0)), host.Know(host.Limit(65536))
	for _, i := range []int{2, 5} {
		pods[i].Snapshot.Limits = host.Limits{
			MemlockSoft:   small,
			MemlockHard:   small,
			UID:           host.Know(1000),
			NoNewPrivs:    host.Know(true),
			CapEff:        none,
			CapPrm:        none,
			CapInh:        none,
			CapBnd:        none,
			CapAmb:        none,
			InitialUserNS: host.Know(true),
			ShmBytes:      host.Know(uint64(1 << 36)),
			MemTotal:      host.Know(uint64(1 << 40)),
		}
	}
	d := Diagnose(Case{State: rulestest.Training(t), Machines: JudgeAll(pods)})
	if len(d.Problems) == 0 || d.Problems[0].Check != "memlock-limit" {
		t.Fatalf("found %q", checksOf(d))
	}
	p := d.Problems[0]
	want := []check.Ref{check.PodRef("train", "h-kim-3"), check.PodRef("train", "h-kim-6")}
	if !slices.Equal(p.Machines, want) || p.Of != 10 {
		t.Errorf("on %q of %d", p.Machines, p.Of)
	}
	if !slices.ContainsFunc(p.Consequences, func(c Consequence) bool {
		return c.Check == fleet.Memlock && strings.Contains(c.Text, "on 8 of 10 pods")
	}) {
		t.Errorf("the difference is not under it: %+v", p.Consequences)
	}
	if slices.ContainsFunc(d.Problems, func(p Problem) bool { return p.Check == fleet.Memlock }) {
		t.Errorf("the difference is also a problem: %q", checksOf(d))
	}
}

func TestDiagnoseOrder(t *testing.T) {
	pods := rulestest.Job(t, 3)
	pods[1] = Machine{Ref: pods[1].Ref, Unreached: "no answer"}
	rulestest.EachDevice(&pods[2], func(d *host.Device) { d.Firmware = host.Know("1.0") })
	s := rulestest.Training(t)
	s.Networks[1].Resource = "openshift.io/rial1"
	gpu := map[string]string{"gpu": "true"}
	s.Pools = []cluster.Pool{{Name: "worker", NodeSelector: gpu, Paused: true}}
	for i := range s.Nodes {
		s.Nodes[i].Labels = gpu
	}
	d := Diagnose(Case{State: s, Machines: JudgeAll(pods)})
	got := checksOf(d)
	if len(got) < 3 || got[0] != "fail network-resource" || !slices.Contains(got, "warn pool-not-paused") ||
		got[len(got)-1] != "unknown machine-reached" {
		t.Errorf("found %q", got)
	}
	if d.Worst() != check.Fail || !d.Unknown() || d.Pods != 2 {
		t.Errorf("worst %s, %d pods", d.Worst(), d.Pods)
	}
}

// Facts that an old snapshot does not have are not healthy.
func TestDiagnoseEmptySnapshot(t *testing.T) {
	d := Diagnose(Case{State: cluster.State{}, Machines: JudgeAll([]Machine{{Ref: check.PodRef("a", "b")}})})
	if d.Worst() < check.Unknown {
		t.Errorf("a pod without any known fact: %+v", d.Problems)
	}
}

// A node with two readings is also judged by the counters of its ports.
func TestDiagnoseWatched(t *testing.T) {
	counting := func(n uint64) host.Snapshot {
		return changed(t, "host-baremetal-8x400", func(s *host.Snapshot) {
			s.Devices[0].Ports[0].Counters = map[string]uint64{"out_of_sequence": n, "symbol_error": 0}
		})
	}
	s := counting(9)
	s.Earlier = counting(7).Counted()
	c := single(check.NodeRef("gpu-0"), s)
	c.State = rulestest.Training(t)
	d := Diagnose(c)
	passed := slices.ContainsFunc(d.Passed, func(p Tally) bool { return p.Check == machine.SymbolErrors })
	if got := checksOf(d); !slices.Equal(got, []string{"warn packets-in-turn"}) || !passed {
		t.Errorf("found %q; passed %v", got, d.Passed)
	}
}

func BenchmarkDiagnose(b *testing.B) {
	for _, n := range []int{200, 1000, 5000} {
		state, pods := rulestest.Training(b), rulestest.Job(b, n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				if d := Diagnose(Case{State: state, Machines: JudgeAll(pods)}); len(d.Problems) > 0 {
					b.Fatal(checksOf(d))
				}
			}
		})
	}
}
