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
	"github.com/railhead/railhead/internal/rules/benchrules"
	"github.com/railhead/railhead/internal/rules/rulestest"
)

// healthy is the rate of a healthy link of 400 Gb/s, whose ceiling is 392.1 Gb/s.
const healthy = bench.Gbps(391)

// rates maps the links between two pods to their rate.
type rates func(a, b, rail int) bench.Gbps

func everywhere(rate bench.Gbps) rates {
	return func(int, int, int) bench.Gbps { return rate }
}

// endAt gives all links of one rail of a pod a rate.
func endAt(pod, rail int, rate bench.Gbps) rates {
	return func(a, b, on int) bench.Gbps {
		if on == rail && (a == pod || b == pod) {
			return rate
		}
		return healthy
	}
}

// measured returns the result of a bench between pods. No link is faster than the lower ceiling of its ends.
func measured(pods []Machine, rate rates) *bench.Result {
	r := bench.Result{SchemaVersion: 1, Namespace: "train", MinEfficiency: 0.9, Seconds: 12}
	for _, m := range pods {
		tools := bench.Tools{bench.IBWriteBW}
		r.Pods = append(r.Pods, bench.PodOf(m.Ref.Name, m.Node, "10.128.2.10", tools, m.Snapshot))
	}
	r.Pods, r.Skipped = bench.Align(r.Pods)
	s := bench.Fleet{Pods: r.Pods}.NewSurvey()
	r.Matrix = s.Matrix()
	for rail := range r.Matrix.Rails {
		for a := range pods {
			for b := a + 1; b < len(pods); b++ {
				ceiling := min(r.Pods[a].Rails[rail].Ceiling.Rate, r.Pods[b].Rails[rail].Ceiling.Rate)
				r.Matrix.Set(a, b, rail, min(rate(a, b, rail), ceiling))
			}
		}
	}
	attribution := r.Matrix.Attribute(r.MinEfficiency)
	r.Attribution = &attribution
	return &r
}

// loses makes the port of a device count packets out of sequence during the measurement.
func loses(m *Machine, device string) {
	m.Snapshot.Devices = slices.Clone(m.Snapshot.Devices)
	before := *m.Snapshot.Counted()
	before.Devices = slices.Clone(before.Devices)
	count := func(devices []host.Device, n uint64) {
		for i := range devices {
			if devices[i].Name == device {
				devices[i].Ports = slices.Clone(devices[i].Ports)
				devices[i].Ports[0].Counters = map[string]uint64{
					"out_of_sequence": n, "symbol_error": 0, "link_downed": 0, "np_cnp_sent": 0,
				}
			}
		}
	}
	count(before.Devices, 0)
	count(m.Snapshot.Devices, 900)
	m.Snapshot.Earlier = &before
}

// deviceOf changes one device of a pod.
func deviceOf(m *Machine, name string, change func(*host.Device)) {
	rulestest.EachDevice(m, func(d *host.Device) {
		if d.Name == name {
			change(d)
		}
	})
}

// software makes the devices of all pods Soft-RoCE.
func software(pods []Machine) {
	for i := range pods {
		rulestest.EachDevice(&pods[i], func(d *host.Device) { d.Parent = host.Know("net1") })
		pods[i].Snapshot.Verbs = &host.VerbsLibrary{Path: "/usr/lib/libibverbs.so.1", Providers: []string{"rxe"}}
	}
}

// If the state of the machines explains a slow part, the measurement is under that problem. Otherwise it comes first.
func TestDiagnoseMeasured(t *testing.T) {
	for name, c := range map[string]struct {
		pods    int
		change  func([]Machine)
		rate    rates
		want    []string // problems
		follows string   // measurement under the first problem
		says    string   // of the first problem
	}{
		"all links are healthy": {pods: 4, rate: everywhere(healthy)},
		"nothing explains a slow NIC": {
			pods: 4,
			rate: endAt(2, 1, 200),
			want: []string{"fail bench-fabric"},
			says: "NIC mlx5_7 of node gpu-3 (pod h-kim-3) rail rail-2: 200.0 Gb/s where " +
				"391.0 Gb/s is healthy, on 3 links",
		},
		"one slow rail between two pods": {
			pods: 2,
			rate: endAt(0, 0, 8),
			want: []string{"fail bench-fabric"},
			says: "node gpu-1 (pod h-kim-1) and node gpu-2 (pod h-kim-2) rail rail-1: 8.00 Gb/s where 391.0 Gb/s is " +
				"healthy, on 1 link",
		},
		"the slow NIC loses packets": {
			pods:    4,
			change:  func(pods []Machine) { loses(&pods[2], "mlx5_7") },
			rate:    endAt(2, 1, 200),
			want:    []string{"fail packets-in-turn"},
			follows: "measured: NIC mlx5_7 of node gpu-3",
		},
		"another NIC of the pod loses packets": {
			pods:   4,
			change: func(pods []Machine) { loses(&pods[2], "mlx5_6") },
			rate:   endAt(2, 1, 200),
			want:   []string{"fail bench-fabric", "warn packets-in-turn"},
			says:   "NIC mlx5_7 of node gpu-3",
		},
		"another pod loses packets": {
			pods:   4,
			change: func(pods []Machine) { loses(&pods[0], "mlx5_7") },
			rate:   endAt(2, 1, 200),
			want:   []string{"fail bench-fabric", "warn packets-in-turn"},
			says:   "NIC mlx5_7 of node gpu-3",
		},
		"MTU 1500 on one pod, and its cost": {
			pods:    4,
			change:  func(pods []Machine) { rulestest.SmallMTU(&pods[1]) },
			rate:    everywhere(healthy),
			want:    []string{"fail rail-mtu"},
			follows: "measured: node/gpu-2: 370.3 Gb/s where 391.0 Gb/s is healthy",
		},
		"MTU 1500 does not explain half of the rate": {
			pods:   4,
			change: func(pods []Machine) { rulestest.SmallMTU(&pods[1]) },
			rate: func(a, b, _ int) bench.Gbps {
				if a == 1 || b == 1 {
					return 190
				}
				return healthy
			},
			want: []string{"fail bench-fabric", "fail rail-mtu"},
			says: "node/gpu-2: 190.0 Gb/s",
		},
		"a port with half of the rate, and its cost": {
			pods: 8,
			change: func(pods []Machine) {
				deviceOf(&pods[1], "mlx5_7", func(d *host.Device) { d.Ports[0].Rate = host.Know(host.Rate{Gbps: 200}) })
			},
			rate: everywhere(healthy),
			want: []string{"fail rate-uniform"},
			follows: "measured: NIC mlx5_7 of node gpu-2 (pod h-kim-2) rail rail-2: 196.1 Gb/s where 391.0 Gb/s is " +
				"healthy, on 7 links",
		},
		"a slot with half of the lanes": {
			pods: 4,
			change: func(pods []Machine) {
				deviceOf(&pods[1], "mlx5_7", func(d *host.Device) {
					f := d.Function.Value
					f.Link.Value.Width = 8
					d.Function = host.Know(f)
				})
			},
			rate:    everywhere(healthy),
			want:    []string{"fail pcie-link"},
			follows: "measured: NIC mlx5_7 of node gpu-2 (pod h-kim-2) rail rail-2: 211.9 Gb/s",
		},
		"no data gets through to two pods with one address": {
			pods: 4,
			change: func(pods []Machine) {
				own := pods[3].Snapshot.Links
				pods[3].Snapshot = pods[2].Snapshot
				pods[3].Snapshot.Links = own
				rulestest.ShareAddresses(&pods[3], &pods[2])
			},
			rate:    endAt(3, 0, 0),
			want:    []string{"fail duplicate-address"},
			follows: "measured: NIC mlx5_6 of node gpu-4 (pod h-kim-4) rail rail-1: no data gets through",
		},
		"all links are slow, and nothing explains it": {
			pods: 4,
			rate: everywhere(150),
			want: []string{"fail bench-fabric"},
			says: "fabric: all links have only 150.0 Gb/s of a ceiling of 392.1 Gb/s",
		},
		"all links are slow, and one is slower": {
			pods: 4,
			rate: func(a, b, rail int) bench.Gbps { return min(150, endAt(2, 1, 40)(a, b, rail)) },
			want: []string{"fail bench-fabric", "fail bench-fabric"},
			says: "NIC mlx5_7 of node gpu-3 (pod h-kim-3) rail rail-2: 40.0 Gb/s where " +
				"150.0 Gb/s is healthy, on 3 links",
		},
		"all links are slow, and all devices are software": {
			pods:    4,
			change:  software,
			rate:    everywhere(150),
			want:    []string{"fail hardware-rdma"},
			follows: "measured: fabric: all links have only 150.0 Gb/s",
		},
		"a fault of all does not explain one slow NIC": {
			pods:   4,
			change: software,
			rate:   endAt(2, 1, 200),
			want:   []string{"fail bench-fabric", "warn hardware-rdma"},
			says:   "NIC mlx5_7 of node gpu-3",
		},
	} {
		t.Run(name, func(t *testing.T) {
			pods := rulestest.Job(t, c.pods)
			if c.change != nil {
				c.change(pods)
			}
			d := Diagnose(Case{State: rulestest.Training(t), Machines: JudgeAll(pods), Bench: measured(pods, c.rate)})
			if diff := cmp.Diff(c.want, checksOf(d)); diff != "" {
				t.Fatalf("%s\n%+v", diff, d.Problems)
			}
			if d.Measured == nil || d.Measured.Pods != c.pods || d.Measured.Links != c.pods*(c.pods-1)/2*4 {
				t.Errorf("measured %+v", d.Measured)
			}
			passed := slices.ContainsFunc(d.Passed, func(p Tally) bool { return p.Check == benchrules.Fabric })
			if healthy := len(c.want) == 0; passed != healthy {
				t.Errorf("bench-fabric passed: %t, want %t", passed, healthy)
			}
			if len(c.want) == 0 {
				return
			}
			first := d.Problems[0]
			if !strings.Contains(line(first.Finding), c.says) {
				t.Errorf("it says %q", line(first.Finding))
			}
			follows := func(x Consequence) bool {
				return x.Check == benchrules.Fabric && strings.HasPrefix(x.Text, c.follows)
			}
			if c.follows != "" && !slices.ContainsFunc(first.Consequences, follows) {
				t.Errorf("the measurement is not under it: %+v", first.Consequences)
			}
		})
	}
}

// A fault of the node explains a measurement between its pods, and the faults of the pods.
func TestDiagnoseMeasuredOnNode(t *testing.T) {
	pods := rulestest.Job(t, 3)
	node := rulestest.Recorded(t, "host-baremetal-8x400")
	pods[1].Node = "gpu-0"
	own, _ := pods[1].Snapshot.Device("mlx5_7")
	for i := range node.Devices {
		if f, ok := node.Devices[i].Function.Get(); ok && node.Devices[i].Name == "mlx5_1" {
			f.Address = own.Function.Value.PhysFn.Value
			node.Devices[i].Function = host.Know(f)
		}
	}
	at := Machine{Ref: check.NodeRef("gpu-0"), Node: "gpu-0", Snapshot: node}
	loses(&at, "mlx5_1")
	for rail, want := range map[int][]string{
		1: {"fail packets-in-turn"},
		0: {"fail bench-fabric", "warn packets-in-turn"}, // of another card
	} {
		r := measured(pods, endAt(1, rail, 0))
		r.Failures = []string{"h-kim-1 > h-kim-2, rail rail-1: it hangs: no data within 2s"}
		d := Diagnose(Case{State: rulestest.Training(t), Machines: JudgeAll(append(slices.Clone(pods), at)), Bench: r})
		if diff := cmp.Diff(want, checksOf(d)); diff != "" {
			t.Fatalf("rail %d: %s", rail, diff)
		}
		evidence := d.Problems[0].Evidence
		if last := evidence[len(evidence)-1]; rail == 0 && last.Got != "it hangs: no data within 2s" {
			t.Errorf("the tool's reason is missing: %+v", evidence)
		}
	}
}

// A pod that was not measured is unknown, with the reason, and never healthy.
func TestDiagnoseUnmeasured(t *testing.T) {
	nothing := &bench.Result{SchemaVersion: 1, Namespace: "train", MinEfficiency: 0.9, Skipped: []string{
		"h-kim-1 and 2 more: a launch runs there", "the matrix: it takes two pods with rails",
	}}
	for name, c := range map[string]struct {
		result  func([]Machine) *bench.Result
		change  func([]Machine)
		want    []string
		says    string
		follows bool
	}{
		"not requested": {result: func([]Machine) *bench.Result { return nil }},
		"no pod": {
			result: func([]Machine) *bench.Result { return nothing },
			want:   []string{"unknown bench-measured"},
			says: "3 of 3 pods could not be measured: h-kim-1 and 2 more: a launch runs there; the matrix: it takes " +
				"two pods with rails",
		},
		"all but one": {
			result: func(pods []Machine) *bench.Result {
				r := measured(pods[:2], everywhere(healthy))
				r.Skipped = []string{"h-kim-3: the image has no ib_write_bw (perftest)"}
				return r
			},
			want: []string{"unknown bench-measured"},
			says: "1 of 3 pods could not be measured: h-kim-3: the image has no ib_write_bw (perftest)",
		},
		"pods without their devices": {
			result: func([]Machine) *bench.Result { return nothing },
			change: func(pods []Machine) {
				for i := range pods {
					pods[i].Snapshot.Devices = nil
				}
			},
			want:    []string{"fail rdma-namespace"},
			follows: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			pods := rulestest.Job(t, 3)
			if c.change != nil {
				c.change(pods)
			}
			d := Diagnose(Case{State: rulestest.Training(t), Machines: JudgeAll(pods), Bench: c.result(pods)})
			if slices.ContainsFunc(d.Passed, func(p Tally) bool { return p.Check == benchrules.Measured }) {
				t.Error("bench-measured passed")
			}
			if diff := cmp.Diff(c.want, checksOf(d)); diff != "" {
				t.Fatal(diff)
			}
			unmeasured := func(x Consequence) bool { return x.Check == benchrules.Measured }
			follows := slices.ContainsFunc(d.Problems, func(p Problem) bool {
				return slices.ContainsFunc(p.Consequences, unmeasured)
			})
			if follows != c.follows {
				t.Errorf("bench-measured is a consequence: %t, want %t: %+v", follows, c.follows, d.Problems)
			}
			if c.says != "" && (d.Problems[0].Summary != c.says || d.Problems[0].Fix == nil || !d.Unknown()) {
				t.Errorf("it says %+v", d.Problems[0])
			}
		})
	}
}

// A result in a foreign archive may contain anything.
func FuzzDiagnoseMeasured(f *testing.F) {
	pods := rulestest.Job(f, 2)
	text, err := json.Marshal(measured(pods, endAt(0, 0, 0)))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := bench.ReadResult(bytes.NewReader(text))
		if err != nil {
			return
		}
		g := gathered{passed: map[Tally]int{}, skipped: map[Tally]int{}}
		for i, row := range explanations {
			g.problems = append(g.problems, Problem{})
			finding := check.Finding{Check: row.check, Status: check.Warn}
			g.occurrences = append(g.occurrences, occurrence{finding, pods[0].Ref, i})
		}
		if m := g.measure(JudgeAll(pods), r); m.Pods > len(r.Pods) {
			t.Errorf("%+v", m)
		}
	})
}
