// Package wire tells from two readings of RDMA devices which programs move data, and over which device.
package wire

import (
	"time"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
)

// psnMask bounds packet sequence numbers: they have 24 bits (InfiniBand specification 9.2.1).
const psnMask = 1<<24 - 1

// Machine is a pod, or a node with all its pods, that was read twice.
type Machine struct {
	Ref           check.Ref
	Before, After host.Wire
	Ports         map[string]Port // by device; missing: unknown
}

// Port has the facts of a device's port that turn packets into bytes.
type Port struct {
	MTU  int     // of RDMA, 256 to 4096; the payload of all but the last packet of a message
	Gbps float64 // rate of the link; 0: unknown
}

// wraps returns the time in which one queue pair can use up all sequence numbers at the rate of the port; 0: unknown.
func (p Port) wraps() time.Duration {
	if p.Gbps <= 0 || p.MTU <= 0 {
		return 0
	}
	bits := float64(psnMask+1) * float64(p.MTU) * 8
	return time.Duration(bits / (p.Gbps * 1e9) * float64(time.Second))
}

// End is one end of a connection: a queue pair, and what it did between two readings.
type End struct {
	host.QueuePair
	Machine check.Ref
	Device  string
	New     bool          // it is not in the first reading
	Over    time.Duration // between the readings
	// Packets sent and received since the first reading, modulo 2^24. Packets of RDMA reads count at the reading end as
	// sent (InfiniBand specification 9.7.3.1).
	Sent, Received uint32
}

// Moved reports whether the end sent or received a packet between the readings. Of a new one that is not known.
func (e End) Moved() bool { return !e.New && (e.Sent > 0 || e.Received > 0) }

// Connected reports whether the queue pair has another end. The others are those of the kernel, datagrams, and those
// that were made and not connected.
func (e End) Connected() bool {
	return !e.Kernel && e.Remote.IsKnown() && e.Remote.Value != 0 && e.State >= host.StateRTR
}

// Ends returns the queue pairs of the second reading that user programs made, device by device.
func (m Machine) Ends() []End {
	before := map[string]map[uint32]host.QueuePair{}
	taken := map[string]time.Time{}
	for _, d := range m.Before.Devices {
		if !d.QueuePairs.IsKnown() {
			continue
		}
		taken[d.Name] = d.Taken
		before[d.Name] = map[uint32]host.QueuePair{}
		for _, q := range d.QueuePairs.Value {
			before[d.Name][q.Number] = q
		}
	}
	var all []End
	for _, d := range m.After.Devices {
		for _, q := range d.QueuePairs.Value {
			if q.Kernel {
				continue
			}
			e := End{QueuePair: q, Machine: m.Ref, Device: d.Name, New: true}
			if was, known := before[d.Name][q.Number]; known && sameQueuePair(was, q) {
				e.New, e.Over = false, d.Taken.Sub(taken[d.Name])
				e.Sent = advance(was.SendPSN, q.SendPSN)
				e.Received = advance(was.RecvPSN.Value, q.RecvPSN.Value)
			}
			all = append(all, e)
		}
	}
	return all
}

// sameQueuePair reports whether a number still means the same queue pair: numbers are used again.
func sameQueuePair(a, b host.QueuePair) bool {
	return a.Remote == b.Remote && a.PID == b.PID && a.Type == b.Type && a.State >= host.StateRTR
}

func advance(from, to uint32) uint32 { return (to - from) & psnMask }
