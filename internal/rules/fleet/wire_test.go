package fleet_test

import (
	"slices"
	"testing"
	"time"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/rules/fleet"
	"github.com/railhead/railhead/internal/rules/rulestest"
)

// connect gives a pod one queue pair that was read twice, a second apart, and did not move.
func connect(m *fleet.Machine, number, remote, next, expected uint32, state host.QueuePairState) {
	device, at := m.Snapshot.Devices[0].Name, time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	reading := func(at time.Time) host.Fact[host.Wire] {
		all := []host.QueuePair{}
		if number != 0 {
			all = append(all, host.QueuePair{
				Number: number, Remote: host.Know(remote), Type: host.TypeRC, State: state,
				SendPSN: next, RecvPSN: host.Know(expected), PID: host.Know(7),
			})
		}
		counters := host.Know(map[string]uint64{"rnr_nak_retry_err": 0})
		return host.Know(host.Wire{Taken: at, Devices: []host.WireDevice{{
			Name: device, Taken: at, QueuePairs: host.Know(all), Ports: []host.WirePort{{Number: 1, Counters: counters}},
		}}})
	}
	m.Snapshot.Wire = reading(at.Add(time.Second))
	m.Snapshot.Earlier = &host.Snapshot{Wire: reading(at)}
}

// move gives a pod two readings. In the second between them eth0 carried bytes each way, and each device 1000 packets.
func move(m *fleet.Machine, eth uint64, devices ...string) {
	for second, s := range []*host.Snapshot{{}, &m.Snapshot} {
		at, n := time.Date(2026, 11, 23, 12, 0, second, 0, time.UTC), uint64(second)
		w := host.Wire{Taken: at, Links: []host.WireLink{
			{Name: "eth0", Sent: host.Know(eth * n), Received: host.Know(eth * n)},
		}}
		for i, name := range devices {
			pair := host.QueuePair{
				Number: uint32(i), Remote: host.Know(uint32(17)), Type: host.TypeRC, State: host.StateRTS,
				SendPSN: uint32(1000 * second), PID: host.Know(7),
			}
			w.Devices = append(w.Devices, host.WireDevice{
				Name: name, Taken: at, QueuePairs: host.Know([]host.QueuePair{pair}),
			})
		}
		if s.Wire = host.Know(w); second == 0 {
			m.Snapshot.Earlier = s
		}
	}
}

func TestConnections(t *testing.T) {
	for name, c := range map[string]struct {
		received uint32 // of 1000 packets
		state    host.QueuePairState
		killed   bool
		part     bool // not all pods of the job were examined
		want     check.ID
		status   check.Status
	}{
		"the program computes":                 {1000, host.StateRTS, false, false, "", check.Pass},
		"the network drops":                    {990, host.StateRTS, false, false, fleet.WireLost, check.Fail},
		"the network drops, part of the job":   {990, host.StateRTS, false, true, "", check.Pass},
		"the other end is in error":            {1000, host.StateError, false, false, fleet.WirePeerGone, check.Fail},
		"the other process was killed":         {0, 0, true, false, fleet.WirePeerGone, check.Warn},
		"the other pod may not have been read": {0, 0, true, true, "", check.Pass},
	} {
		t.Run(name, func(t *testing.T) {
			machines := rulestest.Job(t, 2)
			connect(&machines[0], 17, 42, 1000, 5, host.StateRTS)
			if c.killed {
				connect(&machines[1], 0, 0, 0, 0, 0)
			} else {
				connect(&machines[1], 42, 17, 5, c.received, c.state)
			}
			var members []fleet.Member
			for _, m := range machines {
				member := newMember(m)
				member.Whole = !c.part
				members = append(members, member)
			}
			r := fleet.Judge(members)
			i := slices.IndexFunc(r.Findings, func(f check.Finding) bool { return f.Status > check.Pass })
			switch {
			case c.want == "" && i >= 0:
				t.Errorf("%+v", r.Findings[i])
			case c.want != "" && (i < 0 || r.Findings[i].Check != c.want || r.Findings[i].Status != c.status ||
				!r.Findings[i].Concerns(machines[0].Ref)):
				t.Errorf("%+v", r.Findings)
			}
		})
	}
}

// TestUnknownMotion: pods whose queue pairs are not known do not pass, nor does a part of a job where all of it counts.
func TestUnknownMotion(t *testing.T) {
	all := []check.ID{fleet.WireLost, fleet.WirePeerGone, fleet.WireTCP, fleet.WireIdleRail}
	for name, c := range map[string]struct {
		read, whole bool
		passed      int // of all
	}{
		"not read twice":   {false, true, 0},
		"part of the job":  {true, false, 2},
		"the job computes": {true, true, 4},
	} {
		var members []fleet.Member
		for _, m := range rulestest.Job(t, 2) {
			if c.read {
				move(&m, 0)
			}
			member := newMember(m)
			member.Whole = c.whole
			members = append(members, member)
		}
		r := fleet.Judge(members)
		passed := func(id check.ID) bool { return slices.Contains(r.Passed, id) }
		if got := slices.DeleteFunc(slices.Clone(all), passed); len(all)-len(got) != c.passed {
			t.Errorf("%s: these did not pass: %q", name, got)
		}
	}
}
