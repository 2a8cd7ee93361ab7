package wire

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/host"
)

// queuePair is one queue pair at two readings: packet sequence numbers sent and expected.
type queuePair struct {
	number, remote uint32
	sent, expected [2]uint32
	state          host.QueuePairState
	pid            int
	since          int // 1: only in the second reading
}

var start = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// machine returns a pod with one device whose queue pairs were read twice, a second apart.
func machine(pairs ...queuePair) Machine {
	m := Machine{
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
			Ports:      []host.WirePort{{Number: 1, Counters: host.Know(map[string]uint64{"out_of_buffer": 7})}},
		}}
	}
	return m
}

func TestWrappedNumbers(t *testing.T) {
	const last = 1<<24 - 1
	m := machine(queuePair{number: 17, remote: 42, sent: [2]uint32{last, 3}, expected: [2]uint32{5, 5}})
	if e := m.Ends()[0]; e.Sent != 4 || e.Received != 0 || !e.Moved() {
		t.Errorf("%+v", e)
	}
}

// TestReusedNumber: a queue pair of another process that has the number of an earlier one did not move.
func TestReusedNumber(t *testing.T) {
	m := machine(queuePair{number: 17, remote: 42, sent: [2]uint32{5, 900}, pid: 7})
	m.Before.Devices[0].QueuePairs.Value[0].PID = host.Know(6)
	if e := m.Ends()[0]; e.readings != nil || e.Moved() {
		t.Errorf("%+v", e)
	}
}

// TestNewSender: a queue pair has no number of a packet to send before it may send.
func TestNewSender(t *testing.T) {
	m := machine(queuePair{number: 17, remote: 42, sent: [2]uint32{0, 9_000_000}, pid: 7})
	m.Before.Devices[0].QueuePairs.Value[0].State = host.StateRTR
	if e := m.Ends()[0]; e.readings != nil || e.Moved() {
		t.Errorf("%+v", e)
	}
}

func TestUsages(t *testing.T) {
	m := machine(
		queuePair{number: 1, remote: 11, sent: [2]uint32{0, 250000}, expected: [2]uint32{0, 10}, pid: 7},
		queuePair{number: 2, remote: 12, sent: [2]uint32{0, 250000}, pid: 7},
		queuePair{number: 3, state: host.StateInit, pid: 7},
		queuePair{number: 4, remote: 14, pid: 8},
	)
	want := []Usage{
		{
			Device: "mlx5_0", PID: 7, Pairs: 2, Made: 1, Active: 2, Over: time.Second,
			Sent: Amount{Packets: 500000, Rate: 500000 * 4096}, Got: Amount{Packets: 10, Rate: 10 * 4096},
		},
		{Device: "mlx5_0", PID: 8, Pairs: 1, Over: time.Second},
	}
	if diff := cmp.Diff(want, usages(m.Ends(), m.Ports)); diff != "" {
		t.Error(diff)
	}
	// 2^24 packets of 4096 bytes take 1.37 s at 400 Gb/s
	m.After.Devices[0].Taken = start.Add(2 * time.Second)
	if u := usages(m.Ends(), m.Ports); !u[0].Sent.AtLeast || u[1].Sent.AtLeast {
		t.Errorf("%+v", u)
	}
}

// TestOpeners: a process with a queue pair on one of the devices that it opened is not listed.
func TestOpeners(t *testing.T) {
	m := machine(queuePair{number: 1, remote: 11, pid: 7})
	python := func(pids ...int) host.Fact[[]host.Process] {
		var all []host.Process
		for _, pid := range pids {
			all = append(all, host.Process{PID: pid, Program: "python"})
		}
		return host.Know(all)
	}
	m.After.Devices[0].Openers = python(7, 8, 8)
	m.After.Devices = append(m.After.Devices,
		host.WireDevice{Name: "mlx5_1", Openers: python(7, 8)},
		host.WireDevice{Name: "mlx5_2", Openers: host.Unread[[]host.Process]("invalid argument")})
	want := []Opener{{8, "python", []string{"mlx5_0", "mlx5_1"}}}
	if diff := cmp.Diff(want, openers(m.After, m.Ends())); diff != "" {
		t.Error(diff)
	}
}

// TestPacketSize: where the ports count bytes, packets that are not full count as what they carry.
func TestPacketSize(t *testing.T) {
	for name, c := range map[string]struct {
		mtu            int
		sent, received host.Fact[uint64] // by the port, in a second
		want           float64           // bytes a second of 1000 packets
	}{
		"full packets":                 {4096, host.Know(uint64(1000 * 4154)), host.Know(uint64(1000)), 4096 * 1000},
		"short messages":               {4096, host.Know(uint64(1000 * 90)), host.Know(uint64(10_000)), 100 * 1000},
		"an RDMA read":                 {4096, host.Know(uint64(30_000)), host.Know(uint64(1000 * 4154)), 4096 * 1000},
		"InfiniBand, MTU unknown":      {0, host.Know(uint64(1000 * 2000)), host.Know(uint64(0)), 2000 * 1000},
		"more than the kernel lists":   {0, host.Know(uint64(1000 * 90_000)), host.Know(uint64(0)), 4096 * 1000},
		"bytes are not counted":        {4096, host.Know(uint64(0)), host.Know(uint64(0)), 4096 * 1000},
		"bytes are not shown":          {4096, host.Fact[uint64]{}, host.Fact[uint64]{}, 4096 * 1000},
		"neither bytes nor MTU":        {0, host.Fact[uint64]{}, host.Fact[uint64]{}, 0},
		"one direction cannot be read": {4096, host.Know(uint64(1000)), host.Unread[uint64]("EIO"), 4096 * 1000},
	} {
		t.Run(name, func(t *testing.T) {
			m := machine(queuePair{number: 17, remote: 42, sent: [2]uint32{5, 1005}, expected: [2]uint32{9, 9}})
			m.Ports["mlx5_0"] = Port{MTU: c.mtu, Gbps: 400}
			const before = 1 << 40
			m.Before.Devices[0].Ports = []host.WirePort{{
				Number: 1, Sent: host.Know(uint64(before)), Received: host.Know(uint64(before)),
			}}
			grownTo := func(more host.Fact[uint64]) host.Fact[uint64] {
				if more.IsKnown() {
					return host.Know(before + more.Value)
				}
				return more
			}
			m.After.Devices[0].Ports = []host.WirePort{{
				Number: 1, Sent: grownTo(c.sent), Received: grownTo(c.received),
			}}
			if got := usages(m.Ends(), m.Ports)[0].Sent.Rate; got != c.want {
				t.Errorf("%f bytes a second, want %f", got, c.want)
			}
		})
	}
}
