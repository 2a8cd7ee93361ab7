package rules

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/rules/machine"
)

// healthy is what a link of 400 Gb/s moves, here of a ceiling of 392.1; as a test's answer it says that nothing is wrong with one.
const healthy = bench.Gbps(391)

// rated is what a bench measured between pods: on each link what rate says, at most what its lower end can carry.
func rated(pods []Machine, rate func(a, b, rail int) bench.Gbps) *bench.Result {
	r := bench.Result{SchemaVersion: 1, Namespace: "train", MinEfficiency: 0.9, Seconds: 12}
	for _, m := range pods {
		name := m.Ref.Name
		r.Pods = append(r.Pods, bench.PodOf(name, m.Node, "10.128.2.10", bench.Tools{bench.IBWriteBW}, m.Snapshot))
	}
	r.Pods, r.Skipped = bench.Align(r.Pods)
	s := bench.Fleet{Pods: r.Pods}.NewSurvey()
	r.Matrix = s.Matrix()
	for rail := range r.Matrix.Rails {
		for a := range pods {
			for b := a + 1; b < len(pods); b++ {
				most := min(r.Pods[a].Rails[rail].Ceiling.Rate, r.Pods[b].Rails[rail].Ceiling.Rate)
				r.Matrix.Set(a, b, rail, min(rate(a, b, rail), most))
			}
		}
	}
	attribution := r.Matrix.Attribute(r.MinEfficiency)
	r.Attribution = &attribution
	return &r
}

// endAt is a fault of one rail of one pod: its links have a rate.
func endAt(pod, rail int, rate bench.Gbps) func(a, b, on int) bench.Gbps {
	return func(a, b, on int) bench.Gbps {
		if on == rail && (a == pod || b == pod) {
			return rate
		}
		return healthy
	}
}

func everywhere(rate bench.Gbps) func(a, b, rail int) bench.Gbps {
	return func(int, int, int) bench.Gbps { return rate }
}

// retransmits lets the port of a device count packets that came out of turn while it was measured.
func retransmits(m *Machine, device string) {
	m.Snapshot.Devices = slices.Clone(m.Snapshot.Devices)
	before := *m.Snapshot.Counted()
	before.Devices = slices.Clone(before.Devices)
	count := func(devices []host.Device, n uint64) {
		for i := range devices {
			if devices[i].Name == device {
				devices[i].Ports = slices.Clone(devices[i].Ports)
				devices[i].Ports[0].Counters = map[string]uint64{"out_of_sequence": n, "symbol_error": 0, "link_downed": 0, "np_cnp_sent": 0}
			}
		}
	}
	count(before.Devices, 0)
	count(m.Snapshot.Devices, 900)
	m.Snapshot.Earlier = &before
}

// Where the state of the machines explains what is slow, that is the root; else what was measured comes first.
func TestDiagnoseMeasured(t *testing.T) {
	for name, c := range map[string]struct {
		pods    int
		change  func([]Machine)
		rate    func(a, b, rail int) bench.Gbps
		want    []string // problems
		follows string   // under the first: what was measured
		says    string   // of the first
	}{
		"all are well": {pods: 4, rate: everywhere(healthy)},
		"nothing that is seen explains a slow NIC": {
			pods: 4, rate: endAt(2, 1, 200), want: []string{"fail bench-fabric"},
			says: "NIC mlx5_7 of node gpu-3 (pod h-kim-3) rail rail-2: 200.0 Gb/s where 391.0 Gb/s is healthy, on 3 links",
		},
		"the slow one of two pods' rails": {
			pods: 2, rate: endAt(0, 0, 8), want: []string{"fail bench-fabric"},
			says: "node gpu-1 (pod h-kim-1) and node gpu-2 (pod h-kim-2) rail rail-1: 8.00 Gb/s where 391.0 Gb/s is healthy, on 1 link",
		},
		"a NIC that loses packets is slow": {
			pods: 4, change: func(pods []Machine) { retransmits(&pods[2], "mlx5_7") }, rate: endAt(2, 1, 200),
			want: []string{"fail packets-in-turn"}, follows: "measured: NIC mlx5_7 of node gpu-3",
		},
		"another NIC of the pod loses packets": {
			pods: 4, change: func(pods []Machine) { retransmits(&pods[2], "mlx5_6") }, rate: endAt(2, 1, 200),
			want: []string{"fail bench-fabric", "warn packets-in-turn"}, says: "NIC mlx5_7 of node gpu-3",
		},
		"another pod loses packets": {
			pods: 4, change: func(pods []Machine) { retransmits(&pods[0], "mlx5_7") }, rate: endAt(2, 1, 200),
			want: []string{"fail bench-fabric", "warn packets-in-turn"}, says: "NIC mlx5_7 of node gpu-3",
		},
		"MTU 1500 on one pod, and what it costs there": {
			pods: 4, change: func(pods []Machine) { eachLink(&pods[1], func(l *host.Link) { l.MTU = host.Know(1500) }) }, rate: everywhere(healthy),
			want: []string{"fail rail-mtu"}, follows: "measured: node/gpu-2: 370.3 Gb/s where 391.0 Gb/s is healthy",
		},
		"MTU 1500 does not explain half of the rate": {
			pods: 4, change: func(pods []Machine) { eachLink(&pods[1], func(l *host.Link) { l.MTU = host.Know(1500) }) },
			rate: func(a, b, _ int) bench.Gbps {
				if a == 1 || b == 1 {
					return 190
				}
				return healthy
			},
			want: []string{"fail bench-fabric", "fail rail-mtu"}, says: "node/gpu-2: 190.0 Gb/s",
		},
		"a port that trained down, and what it costs": {
			pods: 8, change: func(pods []Machine) {
				eachDevice(&pods[1], func(d *host.Device) {
					if d.Name == "mlx5_7" {
						d.Ports[0].Rate = host.Know(host.Rate{Gbps: 200})
					}
				})
			},
			rate: everywhere(healthy), want: []string{"fail rate-uniform"},
			follows: "measured: NIC mlx5_7 of node gpu-2 (pod h-kim-2) rail rail-2: 196.1 Gb/s where 391.0 Gb/s is healthy, on 7 links",
		},
		"a slot with half of the lanes": {
			pods: 4, change: func(pods []Machine) {
				eachDevice(&pods[1], func(d *host.Device) {
					if d.Name == "mlx5_7" {
						f := d.Function.Value
						f.Link.Value.Width = 8
						d.Function = host.Know(f)
					}
				})
			},
			rate: everywhere(healthy), want: []string{"fail pcie-link"}, follows: "measured: NIC mlx5_7 of node gpu-2 (pod h-kim-2) rail rail-2: 211.9 Gb/s",
		},
		"one address on two pods: nothing comes through": {
			pods: 4, change: func(pods []Machine) {
				own := pods[3].Snapshot.Links
				pods[3].Snapshot = pods[2].Snapshot
				pods[3].Snapshot.Links = slices.Clone(pods[3].Snapshot.Links)
				for i := range own {
					pods[3].Snapshot.Links[i].MAC = own[i].MAC
				}
			},
			rate: endAt(3, 0, 0), want: []string{"fail duplicate-address"}, follows: "measured: NIC mlx5_6 of node gpu-4 (pod h-kim-4) rail rail-1: nothing comes through",
		},
		"all are slow alike, and nothing explains it": {
			pods: 4, rate: everywhere(150), want: []string{"fail bench-fabric"}, says: "fabric: all links alike have 150.0 Gb/s of a ceiling of 392.1 Gb/s",
		},
		"all are slow, and one is slower": {
			pods: 4, rate: func(a, b, rail int) bench.Gbps { return min(150, endAt(2, 1, 40)(a, b, rail)) }, want: []string{"fail bench-fabric", "fail bench-fabric"},
			says: "NIC mlx5_7 of node gpu-3 (pod h-kim-3) rail rail-2: 40.0 Gb/s where 150.0 Gb/s is healthy, on 3 links",
		},
		"all are slow alike, and are software": {
			pods: 4, change: func(pods []Machine) {
				for i := range pods {
					eachDevice(&pods[i], func(d *host.Device) { d.Parent = host.Know("net1") })
				}
			},
			rate: everywhere(150), want: []string{"fail hardware-rdma"}, follows: "measured: fabric: all links alike have 150.0 Gb/s",
		},
		"what all have does not explain why one is slow": {
			pods: 4, change: func(pods []Machine) {
				for i := range pods {
					eachDevice(&pods[i], func(d *host.Device) { d.Parent = host.Know("net1") })
				}
			},
			rate: endAt(2, 1, 200), want: []string{"fail bench-fabric", "warn hardware-rdma"}, says: "NIC mlx5_7 of node gpu-3",
		},
	} {
		t.Run(name, func(t *testing.T) {
			pods := job(t, c.pods)
			if c.change != nil {
				c.change(pods)
			}
			d := Diagnose(Case{State: training(), Machines: pods, Bench: rated(pods, c.rate)})
			if diff := cmp.Diff(c.want, checksOf(d)); diff != "" {
				t.Fatalf("%s\n%+v", diff, d.Problems)
			}
			if d.Measured == nil || d.Measured.Pods != c.pods || d.Measured.Links != c.pods*(c.pods-1)/2*4 {
				t.Errorf("measured %+v", d.Measured)
			}
			passed := slices.ContainsFunc(d.Passed, func(p Tally) bool { return p.Check == BenchFabric })
			if len(c.want) == 0 {
				if !passed {
					t.Error("that it was measured is not said")
				}
				return
			}
			if passed {
				t.Error("a fabric with a slow part is in order")
			}
			first := d.Problems[0]
			if !strings.Contains(line(first.Finding), c.says) {
				t.Errorf("it says %q", line(first.Finding))
			}
			if c.follows != "" && !slices.ContainsFunc(first.Consequences, func(x Consequence) bool { return x.Check == BenchFabric && strings.HasPrefix(x.Text, c.follows) }) {
				t.Errorf("what was measured is not under it: %+v", first.Consequences)
			}
		})
	}
}

// What the node has explains what was measured between its pods, and takes along what the pods have.
func TestDiagnoseMeasuredOnNode(t *testing.T) {
	pods := job(t, 3)
	node := recorded(t, "host-baremetal-8x400")
	pods[1].Node = "gpu-0"
	own, _ := pods[1].Snapshot.Device("mlx5_7")
	for i := range node.Devices {
		if f, ok := node.Devices[i].Function.Get(); ok && node.Devices[i].Name == "mlx5_1" {
			f.Address = own.Function.Value.PhysFn.Value
			node.Devices[i].Function = host.Know(f)
		}
	}
	at := Machine{Ref: check.NodeRef("gpu-0"), Node: "gpu-0", Snapshot: node}
	retransmits(&at, "mlx5_1")
	for rail, want := range map[int][]string{
		1: {"fail packets-in-turn"},
		0: {"fail bench-fabric", "warn packets-in-turn"}, // of another card
	} {
		b := rated(pods, endAt(1, rail, 0))
		b.Failures = []string{"h-kim-1 > h-kim-2, rail rail-1: it hangs: no data within 2s"}
		d := Diagnose(Case{State: training(), Machines: append(slices.Clone(pods), at), Bench: b})
		if diff := cmp.Diff(want, checksOf(d)); diff != "" {
			t.Fatalf("rail %d: %s", rail, diff)
		}
		if rail == 0 {
			if last := d.Problems[0].Evidence[len(d.Problems[0].Evidence)-1]; last.Got != "it hangs: no data within 2s" {
				t.Errorf("the tool's reason is not there: %+v", d.Problems[0].Evidence)
			}
		}
	}
}

// What was not measured is unknown, with the reason, and never in order.
func TestDiagnoseUnmeasured(t *testing.T) {
	some := func(pods []Machine) *bench.Result {
		r := rated(pods, everywhere(healthy))
		r.Skipped = []string{"h-kim-3: the image has no ib_write_bw (perftest)"}
		return r
	}
	nothing := &bench.Result{SchemaVersion: 1, Namespace: "train", MinEfficiency: 0.9, Skipped: []string{"h-kim-1 and 2 more: a launch runs there", "the matrix: it takes two pods with rails"}}
	for name, c := range map[string]struct {
		result  func([]Machine) *bench.Result
		change  func([]Machine)
		want    []string
		says    string
		follows bool
	}{
		"nobody asked": {result: func([]Machine) *bench.Result { return nil }},
		"nothing": {
			result: func([]Machine) *bench.Result { return nothing }, want: []string{"unknown bench-measured"},
			says: "3 of 3 pods could not be measured: h-kim-1 and 2 more: a launch runs there; the matrix: it takes two pods with rails",
		},
		"all but one": {
			result: func(pods []Machine) *bench.Result { return some(pods[:2]) }, want: []string{"unknown bench-measured"},
			says: "1 of 3 pods could not be measured: h-kim-3: the image has no ib_write_bw (perftest)",
		},
		"a pod without its devices": {
			result: func([]Machine) *bench.Result { return nothing },
			change: func(pods []Machine) {
				for i := range pods {
					pods[i].Snapshot.Devices = nil
				}
			},
			want: []string{"fail rdma-namespace"}, follows: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			pods := job(t, 3)
			if c.change != nil {
				c.change(pods)
			}
			d := Diagnose(Case{State: training(), Machines: pods, Bench: c.result(pods)})
			if slices.ContainsFunc(d.Passed, func(p Tally) bool { return p.Check == BenchMeasured }) {
				t.Error("it is in order")
			}
			if diff := cmp.Diff(c.want, checksOf(d)); diff != "" {
				t.Fatal(diff)
			}
			if c.follows != slices.ContainsFunc(d.Problems, func(p Problem) bool {
				return slices.ContainsFunc(p.Consequences, func(x Consequence) bool { return x.Check == BenchMeasured })
			}) {
				t.Errorf("that it was not measured is not where it was to be: %+v", d.Problems)
			}
			if c.says != "" && (d.Problems[0].Summary != c.says || d.Problems[0].Fix == nil || !d.Unknown()) {
				t.Errorf("it says %+v", d.Problems[0])
			}
		})
	}
}

// Every check that explains something measured is one that doctor makes.
func TestCausesAreMade(t *testing.T) {
	made := map[check.ID]bool{}
	for _, r := range []check.Report{machine.Pod(host.Snapshot{}, machine.Options{}), machine.Node(host.Snapshot{}), machine.Watch(host.Snapshot{}, host.Snapshot{}), Fleet(nil)} {
		for _, f := range r.Findings {
			made[f.Check] = true
		}
		for _, id := range r.Passed {
			made[id] = true
		}
		for _, s := range r.Skipped {
			made[s.Check] = true
		}
	}
	for _, id := range slices.Concat(blockingChecks, slowingChecks, ceilingChecks, noRailChecks) {
		if !made[id] {
			t.Errorf("nobody makes %s", id)
		}
	}
}

// A result of another's archive may say anything.
func FuzzDiagnoseMeasured(f *testing.F) {
	pods := job(f, 2)
	text, err := json.Marshal(rated(pods, endAt(0, 0, 0)))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := bench.ReadResult(bytes.NewReader(text))
		if err != nil {
			return
		}
		g := gathered{passed: map[check.ID]int{}, skipped: map[Tally]int{}}
		for _, id := range slices.Concat(blockingChecks, slowingChecks, ceilingChecks, noRailChecks) {
			g.problems = append(g.problems, Problem{})
			g.occurrences = append(g.occurrences, occurrence{check.Finding{Check: id, Status: check.Warn}, pods[0].Ref, len(g.problems) - 1})
		}
		if m := g.measure(pods, benched{r}); m.Pods > len(r.Pods) {
			t.Errorf("%+v", m)
		}
	})
}
