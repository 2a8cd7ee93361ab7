package wire

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/host"
)

// TestUnacknowledged: packets that a device repeats are those of a connection at rest only if the kernel lists nothing
// else that they can be of.
func TestUnacknowledged(t *testing.T) {
	still := func(n uint32) [2]uint32 { return [2]uint32{n, n} }
	type ends struct{ a, b queuePair }
	rest := ends{
		queuePair{number: 17, remote: 42, sent: still(9), expected: still(5)},
		queuePair{number: 42, remote: 17, sent: still(5), expected: still(9)},
	}
	second := ends{
		queuePair{number: 18, remote: 43, sent: still(70), expected: still(6)},
		queuePair{number: 43, remote: 18, sent: still(6), expected: still(70)},
	}
	lost, moving, renewed := second, second, second
	lost.b.expected = still(60)
	moving.b.expected, moving.a.sent = [2]uint32{60, 70}, [2]uint32{60, 70}
	renewed.a.since, renewed.b.since = 1, 1
	adds := func(w *host.Wire, q host.QueuePair) {
		w.Devices[0].QueuePairs.Value = append(w.Devices[0].QueuePairs.Value, q)
	}
	kernel := host.QueuePair{Number: 7, Remote: host.Know[uint32](9), Type: host.TypeRC, State: host.StateRTS, Kernel: true}
	for name, c := range map[string]struct {
		pairs         []ends
		change        func(a, b *Machine)
		repeatsB      bool
		want          map[State]int
		toA, toB, dup uint64 // connections that get no acknowledgements
	}{
		"the only connection": {
			pairs: []ends{rest}, want: map[State]int{Unacknowledged: 1}, toA: 1, dup: 258,
		},
		"one of two": {
			pairs: []ends{rest, second}, want: map[State]int{Unacknowledged: 2}, toA: 2, dup: 258,
		},
		"both devices": {
			pairs: []ends{rest}, repeatsB: true, want: map[State]int{Unacknowledged: 1}, toA: 1, toB: 1, dup: 258,
		},
		"packets of another connection are lost": {
			pairs: []ends{rest, lost}, want: map[State]int{HalfSeen: 1, Lost: 1},
		},
		"another connection moves": {
			pairs: []ends{rest, moving}, want: map[State]int{HalfSeen: 1, Moving: 1},
		},
		"another connection is new": {
			pairs: []ends{rest, renewed}, want: map[State]int{HalfSeen: 2},
		},
		"the kernel has a connection of its own": {
			pairs: []ends{rest}, change: func(a, _ *Machine) { adds(&a.Before, kernel); adds(&a.After, kernel) },
			want: map[State]int{HalfSeen: 1},
		},
		"a queue pair that went away": {
			pairs: []ends{rest}, change: func(a, _ *Machine) { adds(&a.Before, kernel) }, want: map[State]int{HalfSeen: 1},
		},
		"a DC initiator, whose other end is not known": {
			pairs: []ends{rest}, want: map[State]int{HalfSeen: 1},
			change: func(a, _ *Machine) {
				adds(&a.After, host.QueuePair{Number: 8, Type: host.TypeDriver, State: host.StateRTS})
			},
		},
		"datagrams, which are not acknowledged": {
			pairs: []ends{rest}, want: map[State]int{Unacknowledged: 1}, toA: 1, dup: 258,
			change: func(a, _ *Machine) {
				adds(&a.After, host.QueuePair{Number: 8, Type: host.TypeUD, State: host.StateRTS})
			},
		},
		"another pod's on the same device": {
			pairs: []ends{rest, {queuePair{number: 20, remote: 50, sent: still(3), expected: still(3)}, queuePair{}}},
			want:  map[State]int{HalfSeen: 2},
		},
		"the device repeats nothing": {
			pairs: []ends{rest}, want: map[State]int{Idle: 1},
			change: func(a, _ *Machine) { a.After.Devices[0].Ports = a.Before.Devices[0].Ports },
		},
	} {
		t.Run(name, func(t *testing.T) {
			var sides [2][]queuePair
			for _, p := range c.pairs {
				sides[0] = append(sides[0], p.a)
				if p.b.number != 0 {
					sides[1] = append(sides[1], p.b)
				}
			}
			a, b := machine(sides[0]...), machine(sides[1]...)
			count := func(w *host.Wire, retries, duplicates uint64) {
				w.Devices[0].Ports = []host.WirePort{{Number: 1, Counters: host.Know(map[string]uint64{
					"completer_retry_err": retries, "duplicate_request": duplicates, "send_rnr_err": 0,
				})}}
			}
			count(&a.Before, 3, 0)
			count(&a.After, 5, 0)
			count(&b.Before, 1, 2)
			count(&b.After, 1, 260)
			if c.repeatsB {
				count(&b.After, 2, 260)
			}
			if c.change != nil {
				c.change(&a, &b)
			}
			j := Together([]Member{memberOf("a", a), memberOf("b", b)}, true)
			if diff := cmp.Diff(c.want, j.Connections); diff != "" {
				t.Error(diff)
			}
			var toA, toB, dup uint64
			for _, one := range j.Unacknowledged {
				for _, d := range one.Drops {
					switch dup = max(dup, d.Duplicates); d.To.Machine.Name {
					case "a":
						toA++
					case "b":
						toB++
					}
				}
			}
			if toA != c.toA || toB != c.toB || dup != c.dup {
				t.Errorf("%d to a, %d to b, %d duplicates", toA, toB, dup)
			}
			if c.want[Lost] != len(j.Faults) {
				t.Errorf("%+v", j.Faults)
			}
		})
	}
}
