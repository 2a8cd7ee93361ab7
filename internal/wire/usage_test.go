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

func TestWrappedNumbers(t *testing.T) {
	const last = 1<<24 - 1
	m := machine("a", pair{number: 17, remote: 42, sent: [2]uint32{last, 3}, expected: [2]uint32{5, 5}})
	if e := m.Ends()[0]; e.Sent != 4 || e.Received != 0 || !e.Moved() {
		t.Errorf("%+v", e)
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
