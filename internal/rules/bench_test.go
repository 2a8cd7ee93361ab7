package rules

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
)

// twoPods is a result of two pods with two rails of 400 Gb/s, of which nothing was measured yet.
func twoPods() bench.Result {
	r := bench.Result{SchemaVersion: 1, Job: "h-kim", Namespace: "train", MinEfficiency: 0.9}
	for _, node := range []string{"gpu-1", "gpu-2"} {
		p := bench.Pod{Name: "pod-of-" + node, Node: node}
		for i, name := range []string{"eno5np0", "eno6np0"} {
			p.Rails = append(p.Rails, bench.PodRail{Name: name, Device: []string{"mlx5_6", "mlx5_7"}[i], Ceiling: bench.Ceiling{Rate: 392, By: bench.ByLink}})
		}
		r.Pods = append(r.Pods, p)
	}
	return r
}

func reached(name bench.StepName, measured, ceiling bench.Gbps) bench.Step {
	return bench.Step{Name: name, Measured: host.Know(measured), Ceiling: ceiling, By: bench.ByLink}
}

// climbed is the result with a ladder on its first rail.
func climbed(steps ...bench.Step) bench.Result {
	r := twoPods()
	r.Ladders = bench.Judged([]bench.PairLadder{{To: bench.End{Pod: 1}, Steps: steps}}, bench.Gate{Efficiency: 0.9})
	return r
}

// surveyed is the result with a matrix of n nodes and one rail, all links of which have 390 Gb/s but those that are named.
func surveyed(n int, slow func(a, b int) bench.Gbps) bench.Result {
	r := twoPods()
	var pods []bench.MatrixPod
	r.Pods = nil
	for i := range n {
		node := "gpu-" + string(rune('a'+i))
		pods = append(pods, bench.MatrixPod{Name: "pod-" + node, Node: node})
		r.Pods = append(r.Pods, bench.Pod{Name: "pod-" + node, Node: node, Rails: []bench.PodRail{{Name: "eno5np0", Device: "mlx5_6"}}})
	}
	r.Matrix = bench.NewMatrix(pods, []bench.MatrixRail{{Name: "eno5np0", Ceiling: 392}})
	for a := range n {
		for b := a + 1; b < n; b++ {
			rate := bench.Gbps(390)
			if s := slow(a, b); s >= 0 {
				rate = s
			}
			r.Matrix.Set(a, b, 0, rate)
		}
	}
	attribution := r.Matrix.Attribute(0.9)
	r.Attribution = &attribution
	return r
}

func with(r bench.Result, change func(*bench.Result)) bench.Result {
	change(&r)
	return r
}

// benchStories are results by what they show: the checks that fire on them, the first one's subject and words.
func TestBench(t *testing.T) {
	const none = bench.Gbps(-1)
	full := climbed(reached(bench.WriteHost, 391, 392), reached(bench.WriteGPU, 390, 392), reached(bench.AllRails, 780, 784), reached(bench.NCCLRing, 750, 784))
	for name, c := range map[string]struct {
		result bench.Result
		want   []check.ID
		says   string
	}{
		"all near their ceilings": {full, nil, ""},
		"the wire is slow: GPU and NCCL follow": {
			climbed(reached(bench.WriteHost, 196, 392), reached(bench.WriteGPU, 190, 392), reached(bench.NCCLRing, 300, 784)),
			[]check.ID{BenchLink}, "gpu-1 > gpu-2 rail eno5np0: RDMA write, host memory: 196.0 Gb/s, 50 % of the 392.0 Gb/s that the link allows",
		},
		"GPUDirect takes a detour": {
			climbed(reached(bench.WriteHost, 391, 392), reached(bench.WriteGPU, 196, 392)), []check.ID{BenchGPUDirect}, "What is short: GPUDirect RDMA",
		},
		"rails share a switch": {
			climbed(reached(bench.WriteHost, 391, 392), reached(bench.AllRails, 500, 784)), []check.ID{BenchRails}, "What is short: what the rails share",
		},
		"NCCL leaves it unused": {
			climbed(reached(bench.WriteHost, 391, 392), reached(bench.NCCLRing, 300, 784)), []check.ID{BenchNCCL}, "What is short: NCCL",
		},
		"nothing but TCP": {
			climbed(bench.Step{Name: bench.WriteHost, Skipped: "the image has no perftest"}, reached(bench.TCPPod, 30, 0)),
			[]check.ID{BenchMeasured}, "job/h-kim: nothing was measured that can be judged",
		},
		"no tool for the all-reduce": {
			with(twoPods(), func(r *bench.Result) { r.AllReduces = []bench.AllReduceRun{{Mode: "rdma", Skipped: "no torchrun"}} }),
			[]check.ID{BenchMeasured}, "job/h-kim: nothing was measured that can be judged",
		},
		"a run over TCP that was to be RDMA": {
			with(full, func(r *bench.Result) {
				r.AllReduces = []bench.AllReduceRun{{Mode: "rdma", Sizes: []bench.SizedRate{{Bytes: 1 << 30, Busbw: 1}}, Failed: "the run was set to RDMA, but used TCP", PortBytes: -1}}
			}), []check.ID{BenchTransport}, "all-reduce/rdma: the run was set to RDMA, but used TCP",
		},
		"an all-reduce that crashed": {
			with(full, func(r *bench.Result) {
				r.AllReduces = []bench.AllReduceRun{{Mode: "rdma", Failed: "rank 1 ended with exit code 1"}}
			}),
			[]check.ID{BenchNCCL}, "the all-reduce failed: rank 1 ended",
		},
		"a ring that falls short, without a ladder": {
			with(twoPods(), func(r *bench.Result) {
				r.AllReduces = []bench.AllReduceRun{{Mode: "rdma", Algorithm: "Ring", Ceiling: 98, Sizes: []bench.SizedRate{{Bytes: 1 << 30, Busbw: 40}}}}
			}), []check.ID{BenchNCCL}, "busbw 40.0 GB/s, 41 % of the 98.0 GB/s that the rails carry",
		},
		"rails that do not reach each other": {
			with(full, func(r *bench.Result) {
				r.CrossRails = []bench.Crossing{{To: bench.End{Pod: 1, Rail: 1}, Why: "it hangs"}, {From: bench.End{Rail: 1}, To: bench.End{Pod: 1}, Reached: true}}
			}), []check.ID{BenchCrossRail}, "1 of 2 paths between different rails carry nothing: eno5np0 of gpu-1 does not reach eno6np0 of gpu-2",
		},
		"rails that all do": {
			with(full, func(r *bench.Result) {
				r.CrossRails = []bench.Crossing{{To: bench.End{Pod: 1, Rail: 1}, Reached: true}}
			}), nil, "",
		},
		"a card that is slow by itself": {
			with(surveyed(4, func(int, int) bench.Gbps { return none }), func(r *bench.Result) {
				for i, rate := range []bench.Gbps{380, 382, 190, 381} {
					r.Loopbacks = append(r.Loopbacks, bench.OwnLoop{At: bench.End{Pod: i}, Measured: rate})
				}
			}), []check.ID{BenchLoopback}, "NIC mlx5_6 of gpu-c: it moves 190.0 Gb/s to itself, where others move 381",
		},
		"half of the cards are slow by themselves": {
			with(surveyed(4, func(int, int) bench.Gbps { return none }), func(r *bench.Result) {
				for i, rate := range []bench.Gbps{190, 382, 190, 381} {
					r.Loopbacks = append(r.Loopbacks, bench.OwnLoop{At: bench.End{Pod: i}, Measured: rate})
				}
			}), []check.ID{BenchLoopback}, "NIC mlx5_6 of gpu-a: it moves 190.0 Gb/s to itself, where others move 381.0 Gb/s",
		},
		"a NIC that is slow with everybody and to itself": {
			with(surveyed(8, func(a, b int) bench.Gbps {
				if a == 3 || b == 3 {
					return 195
				}
				return none
			}), func(r *bench.Result) {
				for i := range 8 {
					r.Loopbacks = append(r.Loopbacks, bench.OwnLoop{At: bench.End{Pod: i}, Measured: 380})
				}
				r.Loopbacks[3].Measured = 195
			}), []check.ID{BenchFabric}, "NIC mlx5_6 of node gpu-d (pod pod-gpu-d) rail eno5np0: 195.0 Gb/s where 390.0 Gb/s is healthy, on 7 links",
		},
		"cards that are alike": {
			with(surveyed(4, func(int, int) bench.Gbps { return none }), func(r *bench.Result) {
				for i := range 4 {
					r.Loopbacks = append(r.Loopbacks, bench.OwnLoop{At: bench.End{Pod: i}, Measured: 250})
				}
			}), nil, "",
		},
		"a matrix without a fault": {surveyed(8, func(int, int) bench.Gbps { return none }), nil, ""},
		"a NIC that is slow with everybody": {
			surveyed(8, func(a, b int) bench.Gbps {
				if a == 3 || b == 3 {
					return 195
				}
				return none
			}), []check.ID{BenchFabric}, "NIC mlx5_6 of node gpu-d (pod pod-gpu-d) rail eno5np0: 195.0 Gb/s where 390.0 Gb/s is healthy, on 7 links",
		},
		"a pair that does not reach each other": {
			surveyed(8, func(a, b int) bench.Gbps {
				if a == 1 && b == 6 {
					return 0
				}
				return none
			}), []check.ID{BenchFabric}, "node gpu-b (pod pod-gpu-b) and node gpu-g (pod pod-gpu-g) rail eno5np0: nothing comes through, on 1 link",
		},
		"all alike, and below the gate": {
			surveyed(8, func(int, int) bench.Gbps { return 200 }), []check.ID{BenchFabric}, "fabric: all links alike have 200.0 Gb/s of a ceiling of 392.0 Gb/s",
		},
		"all alike, and below the gate in Gb/s": {
			with(surveyed(8, func(int, int) bench.Gbps { return none }), func(r *bench.Result) { r.MinGbps = 391 }), []check.ID{BenchFabric}, "28 of 28 links fall short",
		},
	} {
		findings := Bench(c.result)
		var got []check.ID
		for _, f := range findings {
			if got = append(got, f.Check); len(f.Evidence) == 0 || f.Fix == nil || f.Fix.Text == "" || len(f.Fix.Commands) == 0 {
				t.Errorf("%s: no evidence or no fix: %+v", name, f)
			}
		}
		if d := cmp.Diff(c.want, slices.Compact(got)); d != "" {
			t.Errorf("%s: %s", name, d)
			continue
		}
		if len(findings) > 0 && !strings.Contains(findings[0].Subject.String()+": "+findings[0].Summary, c.says) {
			t.Errorf("%s: %s: %s", name, findings[0].Subject, findings[0].Summary)
		}
	}
}

// The commands of a fix can be typed as they are.
func TestBenchCommands(t *testing.T) {
	r := climbed(reached(bench.WriteHost, 196, 392))
	for job, want := range map[string][]string{
		"h-kim": {"railhead doctor h-kim -n train --nodes", "railhead bench h-kim -n train --matrix"},
		"":      {"railhead doctor node/gpu-1 node/gpu-2 -n train", "railhead bench --nodes gpu-1,gpu-2 --image IMAGE -n train --matrix"},
	} {
		r.Job = job
		if diff := cmp.Diff(want, Bench(r)[0].Fix.Commands); diff != "" {
			t.Errorf("job %q (-want +got):\n%s", job, diff)
		}
	}
}

// What is dead comes first, with the tool's own word, also where all the rest falls short.
func TestBenchDeadLink(t *testing.T) {
	r := surveyed(8, func(a, b int) bench.Gbps {
		switch {
		case a == 1 && b == 6:
			return 0
		case a == 3 || b == 3:
			return 90
		}
		return 200
	})
	r.Failures = []string{"pod-gpu-a > pod-gpu-b, rail eno5np0: of another link", "pod-gpu-g > pod-gpu-b, rail eno5np0: it hangs: no data within 17s"}
	var got []string
	for _, f := range Bench(r) {
		got = append(got, f.Subject.String()+": "+f.Summary)
		for _, e := range f.Evidence[1:] {
			got = append(got, e.Source+" | "+e.Got)
		}
	}
	want := []string{
		"node gpu-b (pod pod-gpu-b) and node gpu-g (pod pod-gpu-g) rail eno5np0: nothing comes through, on 1 link",
		"pod-gpu-g > pod-gpu-b, rail eno5np0 | it hangs: no data within 17s",
		"fabric: even the links that no part is to blame for have 200.0 Gb/s of a ceiling of 392.0 Gb/s",
		"NIC mlx5_6 of node gpu-d (pod pod-gpu-d) rail eno5np0: 90.0 Gb/s where 200.0 Gb/s is healthy, on 7 links",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestBenchNothingComesThrough(t *testing.T) {
	r := surveyed(3, func(int, int) bench.Gbps { return 0 })
	r.Failures = []string{"pod-gpu-a > pod-gpu-b, rail eno5np0: it hangs"}
	got := Bench(r)
	if len(got) != 1 || got[0].Summary != "nothing comes through, on 3 links" || got[0].Evidence[1].Got != "it hangs" {
		t.Errorf("%+v", got)
	}
}
