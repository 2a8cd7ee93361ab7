package html

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/host"
)

// ceiling is the payload of 400G RoCE with MTU 4096.
const ceiling = bench.Gbps(392.1)

// simulated returns a bench of an invented 400G RoCE fabric. A fault returns the part of the rate that a link keeps.
func simulated(pods, rails int, faults ...func(a, b, rail int) float64) bench.Result {
	random := rand.New(rand.NewPCG(7, 7))
	r := bench.Result{
		SchemaVersion: bench.ResultVersion,
		Begun:         time.Date(2026, 11, 21, 9, 30, 0, 0, time.UTC),
		Seconds:       94.2,
		Namespace:     "train",
		Job:           fmt.Sprintf("h-kim (simulated: %d pods)", pods), MinEfficiency: 0.9,
	}
	var matrixPods []bench.MatrixPod
	var matrixRails []bench.MatrixRail
	for i := range rails {
		matrixRails = append(matrixRails, bench.MatrixRail{Name: fmt.Sprintf("rail%d", i), Ceiling: ceiling})
	}
	for p := range pods {
		pod := bench.Pod{Name: fmt.Sprintf("h-kim-%d", p), Node: fmt.Sprintf("gpu-%d", p+1)}
		for i := range rails {
			pod.Rails = append(pod.Rails, bench.PodRail{
				Name: fmt.Sprintf(
					"rail%d",
					i,
				), Device: fmt.Sprintf("mlx5_%d", i+2), Port: 1, Netdev: fmt.Sprintf("net%d", i+1),
				Address: fmt.Sprintf(
					"10.%d.%d.%d/16",
					i+1,
					p/250,
					p%250+1,
				), GID: 3, Rate: 400, Layer: bench.RoCEv2, MTU: 4096,
				Ceiling: bench.Ceiling{
					Rate: ceiling,
					By:   bench.ByLink,
					Link: ceiling,
					PCIe: host.Know[bench.Gbps](424),
				},
			})
		}
		r.Pods = append(r.Pods, pod)
		matrixPods = append(matrixPods, bench.MatrixPod{Name: pod.Name, Node: pod.Node})
	}
	r.Matrix = bench.NewMatrix(matrixPods, matrixRails)
	for rail := range rails {
		for a := range pods {
			for b := a + 1; b < pods; b++ {
				v := 0.985 * (1 - math.Abs(random.NormFloat64())*0.004)
				for _, fault := range faults {
					v *= fault(a, b, rail)
				}
				r.Matrix.Set(a, b, rail, ceiling*bench.Gbps(v))
			}
		}
	}
	found := r.Matrix.Attribute(r.MinEfficiency)
	r.Attribution = &found
	return r
}

// slowNIC slows all links of one rail of a pod.
func slowNIC(pod, rail int, part float64) func(a, b, rail int) float64 {
	return func(a, b, r int) float64 {
		if r == rail && (a == pod || b == pod) {
			return part
		}
		return 1
	}
}

// badCable slows one link.
func badCable(x, y, rail int, part float64) func(a, b, rail int) float64 {
	return func(a, b, r int) float64 {
		if r == rail && a == x && b == y {
			return part
		}
		return 1
	}
}

// deadLink returns a fabric in which one link carries no data.
func deadLink() bench.Result {
	r := simulated(4, 4, badCable(1, 3, 2, 0))
	r.Failures = []string{"h-kim-1 > h-kim-3, rail rail2: it hangs: no data within 17s"}
	return r
}

// begun returns a bench after two rounds of its matrix.
func begun() bench.Result {
	r := simulated(8, 4)
	whole := r.Matrix
	r.Matrix = bench.NewMatrix(whole.Pods, whole.Rails)
	for round := range 2 {
		for _, l := range bench.SameRail(bench.Round(8, round), 4) {
			v, _ := whole.At(l.From.Pod, l.To.Pod, l.From.Rail)
			r.Matrix.Set(l.From.Pod, l.To.Pod, l.From.Rail, v)
		}
	}
	found := r.Matrix.Attribute(r.MinEfficiency)
	r.Attribution, r.Seconds, r.Unfinished = &found, 0, true
	return r
}

// withLadders adds two ladders, one with a gap at GPUDirect RDMA, and the all-reduce over RDMA and TCP.
func withLadders(r bench.Result) bench.Result {
	know := host.Know[bench.Gbps]
	steps := func(gpu, all bench.Gbps) bench.Ladder {
		return bench.Ladder{
			{Name: bench.WriteHost, Measured: know(386.4), Ceiling: ceiling, By: bench.ByLink},
			{Name: bench.WriteGPU, Measured: know(gpu), Ceiling: ceiling, By: bench.ByLink},
			{Name: bench.AllRails, Measured: know(all), Ceiling: 8 * ceiling, By: bench.ByLink},
			{Name: bench.TCPPod, Measured: know(11.4)},
			{Name: bench.TCPRail, Measured: know(94.2)},
			{Name: bench.NCCLRing, Measured: know(all * 0.97), Ceiling: 8 * ceiling, By: bench.ByLink},
			{Name: bench.NCCLOwn, Measured: know(all * 1.06)},
			{Name: bench.WriteLatency, Micros: host.Know(1.98)},
		}
	}
	for i, l := range []bench.Ladder{steps(384.9, 3054), steps(101.3, 2210)} {
		ladder := bench.PairLadder{From: bench.End{Pod: 0, Rail: i}, To: bench.End{Pod: 1, Rail: i}, Steps: l}
		ladder.State, ladder.Gap = l.Judge(gateOf(r))
		r.Ladders = append(r.Ladders, ladder)
	}
	r.AllReduces = []bench.AllReduceRun{
		{
			Mode:      "rdma",
			Tool:      "all_reduce_perf",
			Ranks:     8 * len(r.Pods),
			Nodes:     len(r.Pods),
			Ceiling:   392.1,
			Network:   "IB",
			PortBytes: 812 << 30,
			Proof:     "NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA",
			Sizes:     sweep(375, 3e6),
		},
		{
			Mode:    "tcp",
			Tool:    "all_reduce_perf",
			Ranks:   8 * len(r.Pods),
			Nodes:   len(r.Pods),
			Network: "Socket",
			Proof:   "NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/Socket/0",
			Sizes:   sweep(9.8, 4e6),
		},
	}
	r.Skipped = []string{"RDMA write, GPU memory on rail7: ib_write_bw of the image has no --use_cuda"}
	r.Series = []bench.Series{
		{Name: "write-host/h-kim-0/h-kim-1/rail0 Gb/s", Values: []float64{386.4, 386.1, 386.5}},
		{Name: "all-reduce/rdma/256MiB busbw GB/s", Values: []float64{361.2, 359.8, 362.4}},
	}
	return r
}

// sweep returns a bandwidth that grows with the message size.
func sweep(most, half float64) []bench.SizedRate {
	var sizes []bench.SizedRate
	for bytes := int64(1 << 20); bytes <= 8<<30; bytes *= 4 {
		busbw := bench.GBps(most * float64(bytes) / (float64(bytes) + 8*half))
		sizes = append(sizes, bench.SizedRate{Bytes: bytes, Algbw: busbw / 1.75, Busbw: busbw})
	}
	return sizes
}

// rolloutPage shows the rollout of rollingOut alone.
func rolloutPage() Page {
	s := rollingOut()
	return Page{Title: "Cluster", Sources: []Source{{"Cluster", s.Server.URL, s.Taken}}, Rollouts: rolloutsOf(s)}
}

// rollingOut returns a cluster that rolls out a configuration to the worker pool.
func rollingOut() cluster.State {
	s := cluster.State{
		Read:  []cluster.Kind{cluster.Pools, cluster.Nodes},
		Taken: time.Date(2026, 11, 21, 9, 30, 0, 0, time.UTC),
		Pools: []cluster.Pool{
			{
				Name:          "worker",
				NodeSelector:  map[string]string{"node-role.kubernetes.io/worker": ""},
				Target:        "rendered-worker-2",
				Current:       "rendered-worker-1",
				TargetSources: []string{"99-railhead"},
				Machines:      9,
				Updated:       4,
				Ready:         4,
			},
		},
	}
	for i := range 9 {
		n := cluster.Node{
			Name:   fmt.Sprintf("gpu-%d", i+1),
			Ready:  true,
			Labels: map[string]string{"node-role.kubernetes.io/worker": ""},
			MachineConfig: cluster.NodeConfig{
				Current: "rendered-worker-1",
				Desired: "rendered-worker-1",
				State:   "Done",
			},
		}
		switch {
		case i < 4:
			n.MachineConfig = cluster.NodeConfig{
				Current: "rendered-worker-2",
				Desired: "rendered-worker-2",
				State:   "Done",
			}
		case i == 4:
			n.Ready, n.NotReady, n.Unschedulable = false, "KubeletNotReady: rebooting", true
			n.MachineConfig = cluster.NodeConfig{
				Current: "rendered-worker-1",
				Desired: "rendered-worker-2",
				State:   "Working",
			}
		}
		s.Nodes = append(s.Nodes, n)
	}
	return s
}
