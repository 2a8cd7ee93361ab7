package wire

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
)

// pair is one queue pair at two readings: packet sequence numbers sent and expected.
type pair struct {
	number, remote uint32
	sent, expected [2]uint32
	state          host.QueuePairState
	pid            int
	since          int // 1: only in the second reading
}

var start = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// machine returns a pod with one device whose queue pairs were read twice, a second apart.
func machine(name string, pairs ...pair) Machine {
	m := Machine{
		Ref:   check.PodRef("train", name),
		Ports: map[string]Port{"mlx5_0": {MTU: 4096, Gbps: 400}},
	}
	for i, at := range []*host.Wire{&m.Before, &m.After} {
		all := []host.QueuePair{}
		for _, p := range pairs {
			if p.since > i {
				continue
			}
			q := host.QueuePair{Number: p.number, Type: host.TypeRC, State: p.state, SendPSN: p.sent[i]}
			if q.PID = host.Know(p.pid); p.remote != 0 {
				q.Remote, q.RecvPSN = host.Know(p.remote), host.Know(p.expected[i])
			}
			if p.state == 0 {
				q.State = host.StateRTS
			}
			all = append(all, q)
		}
		at.Devices = []host.WireDevice{{
			Name:       "mlx5_0",
			Taken:      start.Add(time.Duration(i) * time.Second),
			QueuePairs: host.Know(all),
		}}
	}
	return m
}

func TestConnections(t *testing.T) {
	const last = 1<<24 - 1
	still := func(n uint32) [2]uint32 { return [2]uint32{n, n} }
	type verdict struct {
		State    State
		ToA, ToB uint32
	}
	for name, c := range map[string]struct {
		machines []Machine
		part     bool // not all machines of the job were read
		want     []verdict
	}{
		"data moves": {
			[]Machine{
				machine("a", pair{number: 17, remote: 42, sent: [2]uint32{100, 900}, expected: still(5)}),
				machine("b", pair{number: 42, remote: 17, sent: still(5), expected: [2]uint32{90, 880}}),
			}, false, []verdict{{State: Moving}},
		},
		"the sequence numbers wrap": {
			[]Machine{
				machine("a", pair{number: 17, remote: 42, sent: [2]uint32{last, 3}, expected: still(5)}),
				machine("b", pair{number: 42, remote: 17, sent: still(5), expected: [2]uint32{last, 3}}),
			}, false, []verdict{{State: Moving}},
		},
		"the program stopped": {
			[]Machine{
				machine("a", pair{number: 17, remote: 42, sent: still(6065942), expected: still(7)}),
				machine("b", pair{number: 42, remote: 17, sent: still(7), expected: still(6065942)}),
			}, false, []verdict{{State: Idle}},
		},
		"packets of one direction are lost": {
			[]Machine{
				machine("a", pair{number: 17, remote: 42, sent: still(6077719), expected: still(7)}),
				machine("b", pair{number: 42, remote: 17, sent: still(7), expected: still(6077591)}),
			}, false, []verdict{{State: Lost, ToB: 128}},
		},
		"packets of both directions are lost": {
			[]Machine{
				machine("a", pair{number: 17, remote: 42, sent: still(10), expected: still(last)}),
				machine("b", pair{number: 42, remote: 17, sent: still(4), expected: still(8)}),
			}, false, []verdict{{State: Lost, ToA: 5, ToB: 2}},
		},
		"the receiver was read later": {
			[]Machine{
				machine("a", pair{number: 17, remote: 42, sent: still(10), expected: still(7)}),
				machine("b", pair{number: 42, remote: 17, sent: still(7), expected: still(12)}),
			}, false, []verdict{{State: Idle}},
		},
		"the peer is in error": {
			[]Machine{
				machine("a", pair{number: 17, remote: 42, sent: still(10), expected: still(7)}),
				machine("b", pair{number: 42, remote: 17, sent: still(7), expected: still(10), state: host.StateError}),
			}, false, []verdict{{State: PeerGone}},
		},
		"the peer was killed": {
			[]Machine{machine("a", pair{number: 17, remote: 42, sent: still(10), expected: still(7)}), machine("b")},
			false, []verdict{{State: PeerGone}},
		},
		"the peer may be on a machine that was not read": {
			[]Machine{machine("a", pair{number: 17, remote: 42, sent: still(10), expected: still(7)})},
			true, []verdict{{State: HalfSeen}},
		},
		"a connection that is new": {
			[]Machine{
				machine("a", pair{number: 17, remote: 42, sent: still(10), expected: still(7), since: 1}),
				machine("b", pair{number: 42, remote: 17, sent: still(7), expected: still(10), since: 1}),
			}, false, []verdict{{State: HalfSeen}},
		},
		"a queue pair that is not connected": {
			[]Machine{machine("a", pair{number: 17, state: host.StateInit})}, false, nil,
		},
		"two pairs of pods with the same numbers": {
			[]Machine{
				machine("a", pair{number: 17, remote: 42, sent: still(1000), expected: still(2000)}),
				machine("c", pair{number: 17, remote: 42, sent: still(9000000), expected: still(3)}),
				machine("d", pair{number: 42, remote: 17, sent: still(3), expected: still(8999990)}),
				machine("b", pair{number: 42, remote: 17, sent: still(2000), expected: still(1000)}),
			}, false, []verdict{{State: Idle}, {State: Lost, ToB: 10}},
		},
		"one machine with both ends": {
			[]Machine{machine("a",
				pair{number: 17, remote: 18, sent: still(10), expected: still(7)},
				pair{number: 18, remote: 17, sent: still(7), expected: still(10)},
			)}, false, []verdict{{State: Idle}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got []verdict
			for _, one := range Connections(c.machines, !c.part) {
				got = append(got, verdict{one.State, one.ToA, one.ToB})
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestReusedNumber: a queue pair of another process that has the number of an earlier one did not move.
func TestReusedNumber(t *testing.T) {
	m := machine("a", pair{number: 17, remote: 42, sent: [2]uint32{5, 900}, pid: 7})
	m.Before.Devices[0].QueuePairs.Value[0].PID = host.Know(6)
	if e := m.Ends()[0]; !e.New || e.Moved() {
		t.Errorf("%+v", e)
	}
}

func TestUsages(t *testing.T) {
	m := machine("a",
		pair{number: 1, remote: 11, sent: [2]uint32{0, 250000}, expected: [2]uint32{0, 10}, pid: 7},
		pair{number: 2, remote: 12, sent: [2]uint32{0, 250000}, pid: 7},
		pair{number: 3, state: host.StateInit, pid: 7},
		pair{number: 4, remote: 14, pid: 8},
	)
	want := []Usage{
		{
			Machine: m.Ref, Device: "mlx5_0", PID: 7, Pairs: 2, Made: 1, Active: 2, Over: time.Second,
			Sent: Amount{Packets: 500000, Rate: 500000 * 4096}, Got: Amount{Packets: 10, Rate: 10 * 4096},
		},
		{Machine: m.Ref, Device: "mlx5_0", PID: 8, Pairs: 1, Over: time.Second},
	}
	if diff := cmp.Diff(want, m.Usages()); diff != "" {
		t.Error(diff)
	}
	// 2^24 packets of 4096 bytes take 1.37 s at 400 Gb/s
	m.After.Devices[0].Taken = start.Add(2 * time.Second)
	if u := m.Usages(); !u[0].Sent.AtLeast || u[1].Sent.AtLeast {
		t.Errorf("%+v", u)
	}
}
