// Package wire tells from two readings of RDMA devices which programs move data over which device, and what stops the
// connections that carry none.
package wire

import (
	"time"

	"github.com/railhead/railhead/internal/host"
)

// psnMask bounds packet sequence numbers: they have 24 bits (InfiniBand specification 9.2.1).
const psnMask = 1<<24 - 1

// window bounds the packets that a queue pair has sent and that are not acknowledged.
const window = 1 << 20

// Machine is a pod, or a node with all its pods, that was read twice.
type Machine struct {
	Before, After host.Wire
	Ports         map[string]Port // by device; missing: unknown
}

// End is one end of a connection: a queue pair of a user program, and what it did between two readings.
type End struct {
	Device         string              `json:"device"`
	PID            int                 `json:"pid,omitempty"` // 0: of another PID namespace
	Program        string              `json:"program,omitempty"`
	Number         uint32              `json:"queuePair"`
	Remote         uint32              `json:"-"` // 0: it has no other end
	Type           host.QueuePairType  `json:"-"`
	State          host.QueuePairState `json:"-"`
	Next, Expected uint32              `json:"-"` // packet sequence numbers: the next to send, and to receive
	// Packets sent and received since the first reading, modulo 2^24. Packets of RDMA reads count at the reading end as
	// sent (InfiniBand specification 9.7.3.1).
	Sent, Received uint32 `json:"-"`
	Again          uint32 `json:"-"` // packets that it sends again, because they were not acknowledged
	*readings             // of its device; nil: it is not in the first reading
}

// readings are the times of the two readings of a device, and what it counted between them.
type readings struct {
	from, until time.Time
	unready     host.Fact[uint64] // times that a receiver was not ready
	repeats     bool              // a sender had no acknowledgement in time
	duplicates  uint64            // packets that were received again
	reliable    int               // queue pairs in one of the readings that may repeat packets, of all users

	packetSize float64 // mean bytes by the ports' counters, headers included; 0: unknown
}

// over returns the time between the readings; 0: there was one.
func (r *readings) over() time.Duration {
	if r == nil {
		return 0
	}
	return r.until.Sub(r.from)
}

// Moved reports whether the end sent or received a packet between the readings. Of a new one that is not known.
func (e End) Moved() bool { return e.Sent > 0 || e.Received > 0 }

// isNew reports whether the queue pair could carry data only after the first reading, or the numbers that it counted
// from are unknown.
func (e End) isNew() bool { return e.over() == 0 && (e.Connected() || e.sendsDatagrams()) }

// Connected reports whether the queue pair has another end. The others are datagrams, and those that were made and not
// connected.
func (e End) Connected() bool { return e.Remote != 0 && e.State >= host.StateRTR }

// Broken reports whether the queue pair cannot carry data any more.
func (e End) Broken() bool { return e.State == host.StateError || e.State == host.StateSQE }

// Sends reports whether the queue pair can send. One that cannot has no number of a packet to send next: a program that
// only receives stays in RTR, as ib_write_bw does.
func (e End) Sends() bool { return e.State >= host.StateRTS }

// sendsDatagrams reports whether the queue pair can send without a connection.
func (e End) sendsDatagrams() bool {
	return (e.Type == host.TypeUD || e.Type == host.TypeDriver) && e.State == host.StateRTS
}

// Ends returns the queue pairs of the second reading that user programs made, device by device.
func (m Machine) Ends() []End {
	var all []End
	for _, d := range m.After.Devices {
		first, before := len(all), map[uint32]host.QueuePair{}
		var read *readings
		then, known := m.Before.Device(d.Name)
		if known && then.QueuePairs.IsKnown() {
			read = &readings{
				from: then.Taken, until: d.Taken,
				unready: grown(then, d, unreadyCounters),
				repeats: grown(then, d, repeatCounters).Value > 0,

				duplicates: grown(then, d, duplicateCounters).Value,
				reliable:   reliableIn(then, d),
			}
			for _, q := range then.QueuePairs.Value {
				before[q.Number] = q
			}
		}
		for _, q := range d.QueuePairs.Value {
			if q.Kernel {
				continue
			}
			e := endOf(d.Name, q)
			if was, known := before[q.Number]; known && sameQueuePair(was, q) {
				e.readings = read
				e.compare(was)
			}
			all = append(all, e)
		}
		if read != nil {
			read.packetSize = packetSize(then, d, all[first:])
		}
	}
	return all
}

// reliableIn counts the queue pairs that a device had at one of two readings and that wait for acknowledgements: RC,
// XRC and DC. The kernel tells the other end of RC only (drivers/infiniband/core/nldev.c fill_res_qp_entry_query).
func reliableIn(readings ...host.WireDevice) int {
	numbers := map[uint32]bool{}
	for _, d := range readings {
		for _, q := range d.QueuePairs.Value {
			if q.State >= host.StateRTR && (q.Type == host.TypeRC || q.Type >= host.TypeXRC) {
				numbers[q.Number] = true
			}
		}
	}
	return len(numbers)
}

func endOf(device string, q host.QueuePair) End {
	return End{
		Device: device, PID: q.PID.Value, Program: q.Program,
		Number: q.Number, Remote: q.Remote.Value, Type: q.Type, State: q.State,
		Next: q.SendPSN, Expected: q.RecvPSN.Value,
	}
}

// compare counts the packets since an earlier reading. If a number went back a little, a packet is sent again
// (drivers/infiniband/sw/rxe/rxe_req.c req_retry): a queue pair at full speed cannot wrap so far.
func (e *End) compare(was host.QueuePair) {
	e.Sent, e.Received = advance(was.SendPSN, e.Next), advance(was.RecvPSN.Value, e.Expected)
	if back := advance(e.Next, was.SendPSN); back > 0 && back <= window {
		e.Sent, e.Again = 0, back
	}
}

// sameQueuePair reports whether a number still means the same queue pair, for numbers are used again, and whether this
// had the sequence numbers then that it counts from.
func sameQueuePair(was, is host.QueuePair) bool {
	counted := was.State >= host.StateRTS || was.State == host.StateRTR && is.State == host.StateRTR
	return was.Remote == is.Remote && was.PID == is.PID && was.Type == is.Type && counted
}

func advance(from, to uint32) uint32 { return (to - from) & psnMask }
