package rules

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/rules/machine"
)

func checksOf(d Diagnosis) []string {
	var all []string
	for _, p := range d.Problems {
		all = append(all, p.Status.String()+" "+string(p.Check))
	}
	return all
}

func TestDiagnoseHealthy(t *testing.T) {
	d := Diagnose(Case{State: training(), Machines: job(t, 3)})
	if len(d.Problems) > 0 || d.Pods != 3 || d.Nodes != 0 || len(d.Passed) == 0 {
		t.Errorf("%+v", d)
	}
}

// TestDiagnoseGroups: what several pods have alike is said once, and what follows from it is under it.
func TestDiagnoseGroups(t *testing.T) {
	pods := job(t, 10)
	for _, i := range []int{2, 5} {
		pods[i].Snapshot.Limits = host.Limits{
			MemlockSoft: host.Know(host.Limit(65536)), MemlockHard: host.Know(host.Limit(65536)), UID: host.Know(1000), NoNewPrivs: host.Know(true),
			CapEff: host.Know(host.Caps(0)), CapPrm: host.Know(host.Caps(0)), CapInh: host.Know(host.Caps(0)), CapBnd: host.Know(host.Caps(0)), CapAmb: host.Know(host.Caps(0)),
			InitialUserNS: host.Know(true), ShmBytes: host.Know(uint64(1 << 36)), MemTotal: host.Know(uint64(1 << 40)),
		}
	}
	d := Diagnose(Case{State: training(), Machines: pods})
	if len(d.Problems) == 0 || d.Problems[0].Check != "memlock-limit" {
		t.Fatalf("found %q", checksOf(d))
	}
	p := d.Problems[0]
	if want := []check.Ref{check.PodRef("train", "h-kim-3"), check.PodRef("train", "h-kim-6")}; !slices.Equal(p.Machines, want) || p.Of != 10 {
		t.Errorf("on %q of %d", p.Machines, p.Of)
	}
	if !slices.ContainsFunc(p.Consequences, func(c Consequence) bool {
		return c.Check == FleetMemlock && strings.Contains(c.Text, "on 8 of 10 pods")
	}) {
		t.Errorf("the difference is not under it: %+v", p.Consequences)
	}
	if slices.ContainsFunc(d.Problems, func(p Problem) bool { return p.Check == FleetMemlock }) {
		t.Errorf("the difference stands by itself: %q", checksOf(d))
	}
}

func TestDiagnoseOrder(t *testing.T) {
	pods := job(t, 3)
	pods[1] = Machine{Ref: pods[1].Ref, Unreached: "no answer"}
	eachDevice(&pods[2], func(d *host.Device) { d.Firmware = host.Know("1.0") })
	s := training()
	s.Networks[1].Resource = "openshift.io/rial1"
	gpu := map[string]string{"gpu": "true"}
	s.Pools = []cluster.Pool{{Name: "worker", NodeSelector: gpu, Paused: true}}
	for i := range s.Nodes {
		s.Nodes[i].Labels = gpu
	}
	d := Diagnose(Case{State: s, Machines: pods})
	got := checksOf(d)
	if len(got) < 3 || got[0] != "fail network-resource" || !slices.Contains(got, "warn pool-not-paused") || got[len(got)-1] != "unknown machine-reached" {
		t.Errorf("found %q", got)
	}
	if d.Worst() != check.Fail || !d.Unknown() || d.Pods != 2 {
		t.Errorf("worst %s, %d pods", d.Worst(), d.Pods)
	}
}

// TestDiagnoseLongAgo: facts that an old snapshot does not have are not called healthy.
func TestDiagnoseLongAgo(t *testing.T) {
	d := Diagnose(Case{State: cluster.State{}, Machines: []Machine{{Ref: check.PodRef("a", "b")}}})
	if d.Worst() < check.Unknown {
		t.Errorf("a pod of which nothing is known: %+v", d.Problems)
	}
}

// TestDiagnoseWatched: a node that was read twice is judged by what its ports counted, too.
func TestDiagnoseWatched(t *testing.T) {
	counting := func(n uint64) host.Snapshot {
		return changed(t, "host-baremetal-8x400", func(s *host.Snapshot) {
			s.Devices[0].Ports[0].Counters = map[string]uint64{"out_of_sequence": n, "symbol_error": 0}
		})
	}
	s := counting(9)
	s.Earlier = counting(7).Counted()
	d := Diagnose(Case{State: training(), Machines: []Machine{{Ref: check.NodeRef("gpu-0"), Node: "gpu-0", Snapshot: s}}})
	if got := checksOf(d); !slices.Equal(got, []string{"warn packets-in-turn"}) || !slices.ContainsFunc(d.Passed, func(p Tally) bool { return p.Check == machine.SymbolErrors }) {
		t.Errorf("found %q; passed %v", got, d.Passed)
	}
}

// TestFoldNodes: what a pod has because of its node is under what the node has.
func TestFoldNodes(t *testing.T) {
	of := func(id check.ID, status check.Status, machines ...check.Ref) Problem {
		return Problem{Finding: check.Finding{Check: id, Status: status, Summary: "it"}, Machines: machines}
	}
	a, b := check.NodeRef("a"), check.NodeRef("b")
	pod0, pod1 := check.PodRef("t", "0"), check.PodRef("t", "1")
	f := folder{
		explainedBy: machine.Pod(host.Snapshot{}, machine.Options{}).ExplainedBy,
		nodeOf:      map[check.Ref]check.Ref{pod0: a, pod1: b},
	}
	for name, test := range map[string]struct {
		problems []Problem
		want     []string
	}{
		"both have it":                      {[]Problem{of("iommu-passthrough", check.Warn, a, b), of("iommu-passthrough", check.Fail, pod0, pod1)}, []string{"fail iommu-passthrough"}},
		"of one node it is not known":       {[]Problem{of("iommu-passthrough", check.Warn, a), of("iommu-passthrough", check.Warn, pod0, pod1)}, []string{"warn iommu-passthrough", "warn iommu-passthrough"}},
		"the node's limit is the pod's":     {[]Problem{of("runtime-memlock", check.Fail, a), of("memlock-limit", check.Fail, pod0)}, []string{"fail runtime-memlock"}},
		"what a node may have, and no more": {[]Problem{of("runtime-memlock", check.Unknown, a), of("memlock-limit", check.Fail, pod0)}, []string{"unknown runtime-memlock", "fail memlock-limit"}},
		"another matter":                    {[]Problem{of("runtime-memlock", check.Fail, a), of("gid-usable", check.Fail, pod0)}, []string{"fail runtime-memlock", "fail gid-usable"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := checksOf(Diagnosis{Problems: f.ofNodes(test.problems)}); !slices.Equal(got, test.want) {
				t.Errorf("left %q, want %q", got, test.want)
			}
		})
	}
}

func BenchmarkDiagnose(b *testing.B) {
	for _, n := range []int{200, 1000, 5000} {
		c := Case{State: training(), Machines: job(b, n)}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				if d := Diagnose(c); len(d.Problems) > 0 {
					b.Fatal(checksOf(d))
				}
			}
		})
	}
}
