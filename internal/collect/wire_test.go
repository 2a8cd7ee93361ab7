package collect

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/rules"
	"github.com/railhead/railhead/internal/wire"
)

// TestMembersOf: a pod that was not reached, or was read once, is not one without RDMA.
func TestMembersOf(t *testing.T) {
	device := host.Snapshot{Devices: []host.Device{{Name: "mlx5_6"}}}
	members := membersOf([]rules.Machine{
		{Ref: check.PodRef("train", "a"), Unreached: "no answer within 1m0s"},
		{Ref: check.PodRef("train", "b"), Snapshot: device},
		{Ref: check.PodRef("train", "c")},
	})
	want := []wire.Proof{wire.NotProved, wire.NotProved, wire.NoConnection}
	for i, m := range members {
		if m.Proof != want[i] {
			t.Errorf("%s: %s (%s), want %s", m.Ref, m.Proof, m.Why, want[i])
		}
	}
	if members[0].Why != "no answer within 1m0s" {
		t.Errorf("%+v", members[0])
	}
}

// TestWithoutLaunchers: a pod that was not reached counts, but for one that requests nothing to train with.
func TestWithoutLaunchers(t *testing.T) {
	pod := func(name string, gpus int64) cluster.Pod {
		return cluster.Pod{Namespace: "train", Name: name, Requests: cluster.Resources{"nvidia.com/gpu": gpus}}
	}
	machine := func(name, unreached string) rules.Machine {
		return rules.Machine{Ref: check.PodRef("train", name), Unreached: unreached}
	}
	for name, c := range map[string]struct {
		pods     []cluster.Pod
		machines []rules.Machine
		left     int
	}{
		"launcher": {[]cluster.Pod{pod("launcher", 0), pod("a", 8)},
			[]rules.Machine{machine("launcher", "no shell"), machine("a", "")}, 1},
		"launcher that was read": {[]cluster.Pod{pod("launcher", 0), pod("a", 8)},
			[]rules.Machine{machine("launcher", ""), machine("a", "")}, 2},
		"worker": {[]cluster.Pod{pod("a", 8), pod("b", 8)},
			[]rules.Machine{machine("a", ""), machine("b", "no shell")}, 2},
		"no pod requests anything": {[]cluster.Pod{pod("a", 0), pod("b", 0)},
			[]rules.Machine{machine("a", ""), machine("b", "no shell")}, 2},
	} {
		if got := withoutLaunchers(cluster.State{}, c.machines, c.pods); len(got) != c.left {
			t.Errorf("%s: %d machines, want %d", name, len(got), c.left)
		}
	}
}

// TestMembersOnNodes: pods are known by their UID, and a node that was not reached is not one without RDMA.
func TestMembersOnNodes(t *testing.T) {
	at := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	reading := func(second int) host.Fact[host.Wire] {
		taken := at.Add(time.Duration(second) * time.Second)
		pair := func(pid int) host.QueuePair {
			return host.QueuePair{
				Number: uint32(pid), Remote: host.Know(uint32(42)), Type: host.TypeRC, State: host.StateRTS,
				SendPSN: uint32(1000 * second), PID: host.Know(pid), Program: "python",
			}
		}
		return host.Know(host.Wire{
			Taken: taken, Pods: map[int]string{7: "uid-a", 8: "uid-a", 9: "of a pod that was deleted"},
			Devices: []host.WireDevice{{
				Name: "mlx5_0", Taken: taken,
				QueuePairs: host.Know([]host.QueuePair{pair(6), pair(7), pair(8), pair(9)}),
			}},
		})
	}
	node := host.Snapshot{Wire: reading(1), Earlier: &host.Snapshot{Wire: reading(0)}}
	privileged, exclusive := node, node
	privileged.Limits.CapEff = host.Know(host.Caps(1<<41 - 1))
	exclusive.Limits, exclusive.RDMANetns = privileged.Limits, host.Know("exclusive")
	type row struct {
		Machine        string
		Proof          wire.Proof
		Usages, Unread int
	}
	pods := cluster.State{Pods: []cluster.Pod{{Namespace: "train", Name: "a", UID: "uid-a"}, {Name: "without a UID"}}}
	for name, c := range map[string]struct {
		node host.Snapshot
		want []row
	}{
		"privileged":   {privileged, []row{{"node/gpu-0", wire.RDMA, 2, 0}, {"pod/train/a", wire.RDMA, 2, 0}}},
		"unprivileged": {node, []row{{"node/gpu-0", wire.RDMA, 2, 1}, {"pod/train/a", wire.RDMA, 2, 0}}},
		"exclusive":    {exclusive, []row{{"node/gpu-0", wire.RDMA, 2, 1}, {"pod/train/a", wire.RDMA, 2, 0}}},
		"read once":    {host.Snapshot{Wire: reading(1)}, []row{{"node/gpu-0", wire.NotProved, 0, 0}}},
	} {
		var got []row
		for _, m := range membersOnNodes([]rules.Machine{{Ref: check.NodeRef("gpu-0"), Snapshot: c.node}}, pods) {
			got = append(got, row{m.Ref.String(), m.Proof, len(m.Usages), len(m.Unread)})
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	for _, m := range []*host.Fact[host.Wire]{&exclusive.Wire, &exclusive.Earlier.Wire} {
		m.Value.Devices = nil
	}
	for _, m := range []rules.Machine{{Snapshot: exclusive}, {Unreached: "there is no such node"}} {
		if all := membersOnNodes([]rules.Machine{m}, pods); len(all) != 1 || all[0].Proof != wire.NotProved {
			t.Errorf("%+v", all)
		}
	}
}
