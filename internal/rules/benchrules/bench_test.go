package benchrules

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
)

// twoPods returns a result of two pods with two rails of 400 Gb/s, without any measurement.
func twoPods() bench.Result {
	r := bench.Result{SchemaVersion: 1, Job: "h-kim", Namespace: "train", MinEfficiency: 0.9}
	ceiling := bench.Ceiling{Rate: 392, By: bench.ByLink}
	for _, node := range []string{"gpu-1", "gpu-2"} {
		r.Pods = append(r.Pods, bench.Pod{Name: "pod-of-" + node, Node: node, Rails: []bench.PodRail{
			{Name: "eno5np0", Device: "mlx5_6", Ceiling: ceiling},
			{Name: "eno6np0", Device: "mlx5_7", Ceiling: ceiling},
		}})
	}
	return r
}

func step(name bench.StepName, measured, ceiling bench.Gbps) bench.Step {
	return bench.Step{Name: name, Measured: host.Know(measured), Ceiling: ceiling, By: bench.ByLink}
}

// ladder returns a result with a ladder on the first rail.
func ladder(steps ...bench.Step) bench.Result {
	r := twoPods()
	r.Ladders = bench.Judged([]bench.PairLadder{{To: bench.End{Pod: 1}, Steps: steps}}, bench.Gate{Efficiency: 0.9})
	return r
}

func goodLadder() bench.Result {
	return ladder(step(bench.WriteHost, 391, 392), step(bench.WriteGPU, 390, 392), step(bench.AllRails, 780, 784),
		step(bench.NCCLRing, 750, 784))
}

// secondRail returns a good ladder of the first rail, and one of the second.
func secondRail(steps ...bench.Step) bench.Result {
	r := goodLadder()
	second := bench.PairLadder{From: bench.End{Rail: 1}, To: bench.End{Pod: 1, Rail: 1}, Steps: steps}
	r.Ladders = bench.Judged(append(r.Ladders, second), bench.Gate{Efficiency: 0.9})
	return r
}

// rates maps links to their rate.
type rates func(a, b int) bench.Gbps

func all(rate bench.Gbps) rates { return func(int, int) bench.Gbps { return rate } }

// endAt gives all links of a pod a rate, and the others 390 Gb/s.
func endAt(pod int, rate bench.Gbps) rates {
	return func(a, b int) bench.Gbps {
		if a == pod || b == pod {
			return rate
		}
		return 390
	}
}

// pairOf gives the link of two pods a rate, and the others 390 Gb/s.
func pairOf(pod, other int, rate bench.Gbps) rates {
	return func(a, b int) bench.Gbps {
		if a == pod && b == other {
			return rate
		}
		return 390
	}
}

// matrix returns a result with a matrix of n nodes and one rail.
func matrix(n int, rate rates) bench.Result {
	r := twoPods()
	var pods []bench.MatrixPod
	r.Pods = nil
	for i := range n {
		node := "gpu-" + string(rune('a'+i))
		pods = append(pods, bench.MatrixPod{Name: "pod-" + node, Node: node})
		rails := []bench.PodRail{{Name: "eno5np0", Device: "mlx5_6"}}
		r.Pods = append(r.Pods, bench.Pod{Name: "pod-" + node, Node: node, Rails: rails})
	}
	r.Matrix = bench.NewMatrix(pods, []bench.MatrixRail{{Name: "eno5np0", Ceiling: 392}})
	for a := range n {
		for b := a + 1; b < n; b++ {
			r.Matrix.Set(a, b, 0, rate(a, b))
		}
	}
	attribution := r.Matrix.Attribute(0.9)
	r.Attribution = &attribution
	return r
}

// unrated returns a result with a matrix of n nodes, whose links are alike and have no known ceiling.
func unrated(n int) bench.Result {
	r := matrix(n, all(390))
	r.Matrix.Rails[0].Ceiling = 0
	attribution := r.Matrix.Attribute(0.9)
	r.Attribution = &attribution
	return r
}

func with(r bench.Result, change func(*bench.Result)) bench.Result {
	change(&r)
	return r
}

func withRun(r bench.Result, run bench.AllReduceRun) bench.Result {
	r.AllReduces = []bench.AllReduceRun{run}
	return r
}

// withLoops adds the loopback of the first rail of each pod.
func withLoops(r bench.Result, rates ...bench.Gbps) bench.Result {
	for i, rate := range rates {
		r.Loopbacks = append(r.Loopbacks, bench.OwnLoop{At: bench.End{Pod: i}, Measured: rate})
	}
	return r
}

func TestJudge(t *testing.T) {
	gib := func(busbw bench.GBps) []bench.SizedRate { return []bench.SizedRate{{Bytes: 1 << 30, Busbw: busbw}} }
	const slowNIC = "NIC mlx5_6 of node gpu-d (pod pod-gpu-d) rail eno5np0: 195.0 Gb/s where " +
		"390.0 Gb/s is healthy, on 7 links"
	for name, c := range map[string]struct {
		result bench.Result
		want   []check.ID
		says   string // subject and summary of the first
	}{
		"all near their ceilings": {result: goodLadder()},
		"the wire is slow: GPU and NCCL follow": {
			result: ladder(step(bench.WriteHost, 196, 392), step(bench.WriteGPU, 190, 392),
				step(bench.NCCLRing, 300, 784)),
			want: []check.ID{Link},
			says: "gpu-1 > gpu-2 rail eno5np0: RDMA write, host memory: 196.0 Gb/s, 50 % of the " +
				"392.0 Gb/s that the link allows",
		},
		"GPUDirect takes a detour": {
			result: ladder(step(bench.WriteHost, 391, 392), step(bench.WriteGPU, 196, 392)),
			want:   []check.ID{GPUDirect},
			says:   "At fault: GPUDirect RDMA",
		},
		"rails share a switch": {
			result: ladder(step(bench.WriteHost, 391, 392), step(bench.AllRails, 500, 784)),
			want:   []check.ID{Rails},
			says:   "At fault: what the rails share",
		},
		"NCCL leaves it unused": {
			result: ladder(step(bench.WriteHost, 391, 392), step(bench.NCCLRing, 300, 784)),
			want:   []check.ID{NCCL},
			says:   "At fault: NCCL",
		},
		"nothing but TCP": {
			result: ladder(bench.Step{Name: bench.WriteHost, Skipped: "the image has no perftest"},
				step(bench.TCPPod, 30, 0)),
			want: []check.ID{Measured},
			says: "job/h-kim: nothing was measured that can be judged",
		},
		"the latency could not be measured": {
			result: ladder(step(bench.WriteHost, 391, 392), bench.Step{Name: bench.WriteLatency, Failed: "it hangs"}),
			want:   []check.ID{Link},
			says:   "gpu-1 > gpu-2 rail eno5np0: RDMA write latency: it hangs",
		},
		"the latency of a dead link": {
			result: ladder(bench.Step{Name: bench.WriteHost, Failed: "it hangs"},
				bench.Step{Name: bench.WriteLatency, Failed: "it hangs"}),
			want: []check.ID{Link},
			says: "gpu-1 > gpu-2 rail eno5np0: RDMA write, host memory: it hangs",
		},
		"TCP fails beside a good link": {
			result: ladder(step(bench.WriteHost, 391, 392), bench.Step{Name: bench.TCPRail, Failed: "it hangs"}),
			want:   []check.ID{Measured},
			says:   "gpu-1 > gpu-2 rail eno5np0: TCP over the rail: it hangs",
		},
		"no tool for the all-reduce": {
			result: withRun(twoPods(), bench.AllReduceRun{Mode: "rdma", Skipped: "no torchrun"}),
			want:   []check.ID{Measured},
			says:   "job/h-kim: nothing was measured that can be judged",
		},
		"a run that used TCP instead of RDMA": {
			result: withRun(goodLadder(), bench.AllReduceRun{
				Mode: "rdma", Sizes: gib(1), Failed: "the run was set to RDMA, but used TCP", PortBytes: -1,
			}),
			want: []check.ID{Transport},
			says: "all-reduce/rdma: the run was set to RDMA, but used TCP",
		},
		"an all-reduce that crashed": {
			result: withRun(goodLadder(), bench.AllReduceRun{Mode: "rdma", Failed: "rank 1 ended with exit code 1"}),
			want:   []check.ID{NCCL},
			says:   "the all-reduce failed: rank 1 ended",
		},
		"a slow ring without a ladder": {
			result: withRun(twoPods(), bench.AllReduceRun{
				Mode: "rdma", Algorithm: "Ring", Ceiling: 98, Sizes: gib(40),
			}),
			want: []check.ID{NCCL},
			says: "busbw 40.0 GB/s, 41 % of the 98.0 GB/s that the rails carry",
		},
		"rails that do not reach each other": {
			result: with(goodLadder(), func(r *bench.Result) {
				r.CrossRails = []bench.Crossing{
					{To: bench.End{Pod: 1, Rail: 1}, Why: "it hangs"},
					{From: bench.End{Rail: 1}, To: bench.End{Pod: 1}, Reached: true},
				}
			}),
			want: []check.ID{CrossRail},
			says: "1 of 2 paths between different rails carry no data: eno5np0 of gpu-1 " +
				"does not reach eno6np0 of gpu-2",
		},
		"rails that all reach each other": {
			result: with(goodLadder(), func(r *bench.Result) {
				r.CrossRails = []bench.Crossing{{To: bench.End{Pod: 1, Rail: 1}, Reached: true}}
			}),
		},
		"a card that is slow to itself": {
			result: withLoops(matrix(4, all(390)), 380, 382, 190, 381),
			want:   []check.ID{Loopback},
			says:   "NIC mlx5_6 of gpu-c: it moves 190.0 Gb/s to itself, where others move 381",
		},
		"half of the cards are slow to themselves": {
			result: withLoops(matrix(4, all(390)), 190, 382, 190, 381),
			want:   []check.ID{Loopback},
			says:   "NIC mlx5_6 of gpu-a: it moves 190.0 Gb/s to itself, where others move 381.0 Gb/s",
		},
		"a NIC that is slow with all others and to itself": {
			result: withLoops(matrix(8, endAt(3, 195)), 380, 380, 380, 195, 380, 380, 380, 380),
			want:   []check.ID{Fabric},
			says:   slowNIC,
		},
		"cards that are alike":     {result: withLoops(matrix(4, all(390)), 250, 250, 250, 250)},
		"a matrix without a fault": {result: matrix(8, all(390))},
		"a NIC that is slow with all others": {
			result: matrix(8, endAt(3, 195)),
			want:   []check.ID{Fabric},
			says:   slowNIC,
		},
		"a pair that does not reach each other": {
			result: matrix(8, pairOf(1, 6, 0)),
			want:   []check.ID{Fabric},
			says: "node gpu-b (pod pod-gpu-b) and node gpu-g (pod pod-gpu-g) rail eno5np0: " +
				"no data gets through, on 1 link",
		},
		"the ceiling of one rail is unknown": {
			result: secondRail(step(bench.WriteHost, 40, 0)),
			want:   []check.ID{Measured},
			says:   "gpu-1 > gpu-2 rail eno6np0: RDMA write, host memory: 40.0 Gb/s, and its ceiling is unknown",
		},
		"a matrix of unknown ceilings": {
			result: unrated(8),
			want:   []check.ID{Measured},
			says:   "job/h-kim: nothing was measured that can be judged",
		},
		"a matrix of unknown ceilings, with a target": {
			result: with(unrated(8), func(r *bench.Result) { r.MinGbps = 380 }),
		},
		"all alike, and below the gate": {
			result: matrix(8, all(200)),
			want:   []check.ID{Fabric},
			says:   "fabric: all links have only 200.0 Gb/s of a ceiling of 392.0 Gb/s",
		},
		"no two alike, and below the gate": {
			result: matrix(4, func(a, b int) bench.Gbps { return bench.Gbps(0.008 + 0.002*float64(a+b)) }),
			want:   []check.ID{Fabric},
			says:   "fabric: links reach 0.010 to 0.018 Gb/s of a ceiling of 392.0 Gb/s; no single part explains it",
		},
		"all alike, and below the gate in Gb/s": {
			result: with(matrix(8, all(390)), func(r *bench.Result) { r.MinGbps = 391 }),
			want:   []check.ID{Fabric},
			says:   "28 of 28 links miss the target",
		},
	} {
		findings := Judge(c.result)
		var got []check.ID
		for _, f := range findings {
			got = append(got, f.Check)
			if len(f.Evidence) == 0 || f.Fix == nil || f.Fix.Text == "" || len(f.Fix.Commands) == 0 {
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
func TestCommands(t *testing.T) {
	r := ladder(step(bench.WriteHost, 196, 392))
	for job, want := range map[string][]string{
		"h-kim": {"railhead doctor h-kim -n train --nodes", "railhead bench h-kim -n train --matrix"},
		"": {
			"railhead doctor node/gpu-1 node/gpu-2 -n train",
			"railhead bench --nodes gpu-1,gpu-2 --image IMAGE -n train --matrix",
		},
	} {
		r.Job = job
		if diff := cmp.Diff(want, Judge(r)[0].Fix.Commands); diff != "" {
			t.Errorf("job %q (-want +got):\n%s", job, diff)
		}
	}
}

// A dead link is named first, with the message of the tool, even if all other links are slow.
func TestDeadLink(t *testing.T) {
	r := matrix(8, func(a, b int) bench.Gbps {
		return min(200, pairOf(1, 6, 0)(a, b), endAt(3, 90)(a, b))
	})
	r.Failures = []string{
		"pod-gpu-a > pod-gpu-b, rail eno5np0: of another link",
		"pod-gpu-g > pod-gpu-b, rail eno5np0: it hangs: no data within 17s",
	}
	var got []string
	for _, f := range Judge(r) {
		got = append(got, f.Subject.String()+": "+f.Summary)
		for _, e := range f.Evidence[1:] {
			got = append(got, e.Source+" | "+e.Got)
		}
	}
	want := []string{
		"node gpu-b (pod pod-gpu-b) and node gpu-g (pod pod-gpu-g) rail eno5np0: no data gets through, on 1 link",
		"pod-gpu-g > pod-gpu-b, rail eno5np0 | it hangs: no data within 17s",
		"fabric: even the links outside the slow parts have only 200.0 Gb/s of a ceiling of 392.0 Gb/s",
		"NIC mlx5_6 of node gpu-d (pod pod-gpu-d) rail eno5np0: 90.0 Gb/s where 200.0 Gb/s is healthy, on 7 links",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestNoDataGetsThrough(t *testing.T) {
	r := matrix(3, all(0))
	r.Failures = []string{"pod-gpu-a > pod-gpu-b, rail eno5np0: it hangs"}
	got := Judge(r)
	if len(got) != 1 || got[0].Summary != "no data gets through, on 3 links" || got[0].Evidence[1].Got != "it hangs" {
		t.Errorf("%+v", got)
	}
}
