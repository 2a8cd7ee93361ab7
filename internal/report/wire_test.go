package report

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/wire"
)

func TestWire(t *testing.T) {
	pod := func(name string) check.Ref { return check.PodRef("train", name) }
	moving := wire.Motion{Proof: wire.RDMA, Seconds: 1, Unused: []string{"mlx5_7"}, Usages: []wire.Usage{{
		Device: "mlx5_6", PID: 71, Program: "python", Pairs: 8, Active: 8,
		Sent: wire.Amount{Packets: 5e6, Rate: 20e9}, Got: wire.Amount{Packets: 5e6, Rate: 20e9},
	}}}
	moving.OutOfSequence = host.Know[uint64](3)
	eth := []wire.LinkRate{{Name: "eth0", Sent: 5e8, Received: 5e8}}
	refused := wire.Motion{Proof: wire.NotProved, Why: "permission denied", Refused: true}
	place := func(name string) wire.Place { return wire.Place{End: &wire.End{Device: "mlx5_6"}, Machine: pod(name)} }
	rail := check.DeviceRef("mlx5_7").On(pod("a"))
	uneven := wire.Job{
		Proof: wire.NoTraffic, Seconds: 1, IdleRails: []check.Ref{rail},
		Uneven: []wire.Uneven{{Rail: rail, Rate: 1e9, Others: 4e9}},
	}
	idle := wire.Together([]wire.Member{{Ref: pod("a"), Motion: wire.Motion{Proof: wire.NoTraffic, Seconds: 1}}}, true)
	idle.Faults = []wire.Connection{
		{State: wire.Lost, A: place("a"), B: place("b"), Drops: []wire.Drop{
			{From: place("a"), To: place("b"), Packets: 128}, {From: place("b"), To: place("a")},
		}},
		{State: wire.PeerGone, A: place("a")},
		{State: wire.PeerGone, A: place("a"), B: place("b")},
		{State: wire.PeerGone, A: wire.Place{
			End: &wire.End{Device: "mlx5_7", State: host.StateError}, Machine: pod("a"),
		}},
	}
	unacknowledged := func(to string, duplicates uint64, from ...string) (all []wire.Connection) {
		for _, peer := range from {
			all = append(all, wire.Connection{State: wire.Unacknowledged, A: place(to), B: place(peer), Drops: []wire.Drop{
				{From: place(peer), To: place(to), Duplicates: duplicates},
			}})
		}
		return all
	}
	repeating := wire.Job{
		Proof: wire.NoTraffic, Seconds: 1, Unacknowledged: slices.Concat(
			unacknowledged("a", 258, "b"), unacknowledged("b", 0, "c", "c"), unacknowledged("c", 2, "a", "b")),
	}
	for name, c := range map[string]struct {
		job  wire.Job
		want string
	}{
		"one pod moves, one was refused": {
			wire.Together([]wire.Member{{Ref: pod("a"), Motion: moving}, {Ref: pod("b"), Motion: refused}}, true),
			`POD           DEVICE   PROCESS     CONNECTED   MOVING   SENT      RECEIVED
pod/train/a   mlx5_6   71 python   8           8        20 GB/s   20 GB/s
pod/train/a: nothing on mlx5_7
not read: pod/train/b: permission denied
RDMA: 1 process on 1 rail of 1 pod, 20 GB/s, 3 out of sequence; not read: 1 pod
`,
		},
		"refused everywhere": {
			wire.Together([]wire.Member{
				{Ref: pod("b"), Node: "gpu-1", Motion: refused}, {Ref: pod("c"), Node: "gpu-2", Motion: refused},
				{Ref: pod("d"), Node: "gpu-1", Motion: refused},
			}, true),
			`not read: pod/train/b: permission denied
not read: pod/train/c: permission denied
not read: pod/train/d: permission denied
A privileged pod on their nodes may read them: railhead wire node/gpu-1 node/gpu-2
unknown: the queue pairs could not be read: permission denied
`,
		},
		"a node with more than it shows": {
			wire.Job{
				Proof: wire.RDMA, Processes: 1, Rails: 1, Machines: 1, Sent: wire.Amount{Packets: 9, Rate: 1e9},
				Unproved: []check.Ref{check.NodeRef("gpu-0")},
				Members: []wire.Member{{Ref: check.NodeRef("gpu-0"), Motion: wire.Motion{
					Proof: wire.RDMA, Unread: []check.Evidence{{Source: "other pods", Got: "without a privileged pod"}},
					Openers: []wire.Opener{{PID: 9, Devices: []string{"mlx5_6"}}},
				}}},
			},
			`not read: node/gpu-0: other pods: without a privileged pod
node/gpu-0: no queue pair: 9 opened mlx5_6
RDMA: 1 process on 1 rail of 1 machine, 1 GB/s; not read: 1 machine
`,
		},
		"no pod": {wire.Together(nil, true), "unknown: the queue pairs could not be read: no machine was read\n"},
		"TCP": {
			wire.Together([]wire.Member{
				{Ref: pod("a"), Motion: wire.Motion{Proof: wire.NoConnection, Links: eth}},
				{Ref: pod("b"), Motion: wire.Motion{Proof: wire.NoConnection, Links: eth}},
			}, true), "not RDMA: no queue pair is connected; 1 GB/s over eth0\n",
		},
		"rails that differ": {
			uneven, `idle rail: pod/train/a mlx5_7 has no queue pair, and most pods use all their rails
uneven: pod/train/a mlx5_7 carries 1 GB/s, the other rails of the pod 4 GB/s or more
no traffic: no packet moved over RDMA in 1.0 s
`,
		},
		"packets that are repeated": {
			repeating, `unacknowledged: pod/train/a mlx5_6 repeats packets: of its connection with pod/train/b mlx5_6, ` +
				`where all had arrived, or of a queue pair that the kernel does not list; ` +
				`pod/train/b mlx5_6 received 258 packets again
unacknowledged: pod/train/b mlx5_6 repeats packets: of at least one of its 2 connections with pod/train/c mlx5_6, ` +
				`where all had arrived, or of a queue pair that the kernel does not list
unacknowledged: pod/train/c mlx5_6 repeats packets: of at least one of its 2 connections with pod/train/a mlx5_6, ` +
				`pod/train/b mlx5_6, where all had arrived, or of a queue pair that the kernel does not list; ` +
				`they received 4 packets again
no traffic: no packet moved over RDMA in 1.0 s
`,
		},
		"broken connections": {
			idle, `lost: 128 packets from pod/train/a mlx5_6 to pod/train/b mlx5_6 and acknowledgements from pod/train/b mlx5_6 ` +
				`to pod/train/a mlx5_6
peer gone: pod/train/a mlx5_6 has no other end
peer gone: pod/train/a mlx5_6 and pod/train/b mlx5_6: one end is in error
peer gone: pod/train/a mlx5_7 is in error
no traffic: no packet moved over RDMA in 1.0 s
`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got strings.Builder
			if err := Wire(&got, c.job); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestOverTime: what happened in any reading is in the summary, also if the last ones were healthy.
func TestOverTime(t *testing.T) {
	at := time.Date(2026, 11, 21, 8, 0, 3, 0, time.UTC)
	rail := func(pod string) check.Ref { return check.DeviceRef("mlx5_6").On(check.PodRef("train", pod)) }
	for want, s := range map[string]wire.Series{
		"1 reading in 9s: RDMA in 1\n": {Readings: 1, Proofs: map[wire.Proof]int{wire.RDMA: 1}},
		"9 readings in 9s: RDMA in 3, no traffic in 1, not RDMA in 1, unknown in 4; 2 without some of the machines\n": {
			Readings: 9, Partial: 2,
			Proofs: map[wire.Proof]int{wire.RDMA: 3, wire.NoTraffic: 1, wire.NoConnection: 1, wire.NotProved: 4},
		},
		"9 readings in 9s: RDMA in 9\n" +
			"Broken connections: lost in 3 readings, peer gone in 1 reading; first at 08:00:03 UTC: " +
			"pod/train/a mlx5_6 and pod/train/b mlx5_6\n": {
			Readings: 9, Proofs: map[wire.Proof]int{wire.RDMA: 9},
			Broken: map[wire.State]int{wire.Lost: 3, wire.PeerGone: 1},
			Breaks: []wire.Break{{State: wire.Lost, A: rail("a"), B: rail("b"), Since: at}},
		},
	} {
		var got strings.Builder
		if OverTime(&got, &s, 8900*time.Millisecond); got.String() != want {
			t.Error(cmp.Diff(want, got.String()))
		}
	}
}
