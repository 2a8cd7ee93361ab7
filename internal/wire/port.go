package wire

import (
	"slices"
	"time"

	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/rail"
)

// Port has the facts of a device's port that turn packets into bytes.
type Port struct {
	MTU  int     // of RDMA, 256 to 4096; the payload of all but the last packet of a message; 0: unknown
	Why  string  // the MTU is unknown
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

// portsOf returns the MTU of RDMA and the rate of each device's first port. InfiniBand does not show its MTU in sysfs.
func portsOf(s host.Snapshot) map[string]Port {
	ports := map[string]Port{}
	for _, d := range s.Devices {
		var p Port
		if len(d.Ports) > 0 {
			p.Gbps = d.Ports[0].Rate.Value.Gbps
		}
		netdev := interfaceMTU(s, d)
		p.MTU, p.Why = rail.RDMAMTU(netdev.Value), netdev.Why
		ports[d.Name] = p
	}
	return ports
}

// interfaceMTU returns the MTU of the interface that a RoCE device runs over, in whichever network namespace that is.
func interfaceMTU(s host.Snapshot, d host.Device) (mtu host.Fact[int]) {
	if len(d.Ports) == 0 || d.Ports[0].LinkLayer.Value != host.Ethernet {
		return host.Unread[int]("its port is not Ethernet, which alone shows its MTU")
	}
	if w, _ := s.Wire.Value.Device(d.Name); len(w.Ports) > 0 {
		mtu = w.Ports[0].InterfaceMTU
	}
	if mtu.IsKnown() {
		return mtu
	}
	for _, name := range append(slices.Clone(d.Netdevs), d.Parent.Value) {
		if l, ok := s.Link(name); ok && l.MTU.Value >= mtu.Value {
			mtu = l.MTU
		}
	}
	if mtu.IsZero() {
		mtu = host.Unread[int]("its interface is in no network namespace that was read")
	}
	return mtu
}

// maxMTU is the largest MTU of RDMA (InfiniBand specification, table 9).
const maxMTU = 4096

// payload returns the bytes of a packet. size is the average size of packets according to the ports; 0: unknown.
// Packets of short messages are not full.
func (p Port) payload(size float64) float64 {
	switch {
	case size == 0:
		return float64(p.MTU)
	case p.MTU == 0:
		return min(size, maxMTU)
	}
	return min(size, float64(p.MTU))
}

// packetSize returns the mean bytes of the packets of a device between two readings; 0: its ports do not tell. Both
// directions count together, because the data of RDMA reads flow against the direction of their sequence numbers.
func packetSize(before, after host.WireDevice, ends []End) float64 {
	var packets, bytes uint64
	for _, e := range ends {
		packets += uint64(e.Sent) + uint64(e.Received)
	}
	if packets == 0 || len(before.Ports) != len(after.Ports) {
		return 0
	}
	for i, now := range after.Ports {
		then := before.Ports[i]
		sent, received := more(then.Sent, now.Sent), more(then.Received, now.Received)
		if !sent.IsKnown() || !received.IsKnown() {
			return 0
		}
		bytes += sent.Value + received.Value
	}
	return float64(bytes) / float64(packets)
}

// more returns by how much a counter grew. One that is less was reset.
func more(then, now host.Fact[uint64]) (n host.Fact[uint64]) {
	if then.IsKnown() && now.IsKnown() && now.Value >= then.Value {
		n = host.Know(now.Value - then.Value)
	}
	return n
}
