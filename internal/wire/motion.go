package wire

import (
	"cmp"
	"slices"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/rail"
)

// Proof says whether two readings of a machine show RDMA traffic.
type Proof string

// The proofs. NotProved is not "no RDMA".
const (
	NotProved    Proof = "unknown" // the queue pairs could not be read
	RDMA         Proof = "rdma"    // packets were sent or received over RDMA
	NoTraffic    Proof = "idle"    // queue pairs are connected, and no packet moved
	NoConnection Proof = "none"    // no queue pair is connected
)

// Motion is what a pod or a node did between two readings.
type Motion struct {
	Proof   Proof            `json:"proof"`
	Why     string           `json:"why,omitempty"` // of NotProved
	Seconds float64          `json:"seconds"`
	Usages  []Usage          `json:"usages"`
	Rails   []string         `json:"rails,omitempty"`  // of the pod
	Unused  []string         `json:"unused,omitempty"` // rails over which no packet moved
	Links   []LinkRate       `json:"links,omitempty"`  // interfaces other than the rails'
	Unread  []check.Evidence `json:"unread,omitempty"` // devices that could not be read
}

// LinkRate is the traffic of an interface, in bytes per second.
type LinkRate struct {
	Name     string  `json:"name"`
	Sent     float64 `json:"sent"`
	Received float64 `json:"received"`
}

// Between compares a machine with an earlier reading of it. Rates need the MTU and the rate of the ports, which are
// those of the Snapshot.
func Between(before host.Fact[host.Wire], after host.Snapshot) Motion {
	var m Motion
	rails := rail.Resolve(after, rail.Pod).Rails
	for _, r := range rails {
		m.Rails = append(m.Rails, r.Device)
	}
	then, known := before.Get()
	now, still := after.Wire.Get()
	switch {
	case after.Wire.IsZero():
		m.Proof, m.Why = NoConnection, "the kernel has no RDMA"
		return m
	case !known || !still:
		m.Proof, m.Why = NotProved, cmp.Or(after.Wire.Why, before.Why, "it was read once")
		return m
	}
	machine := Machine{Before: then, After: now, Ports: portsOf(after)}
	m.Usages = machine.Usages()
	m.links(then, now, rails)
	m.unread(now)
	m.judge()
	return m
}

// portsOf returns the MTU of RDMA and the rate of each device's first port. InfiniBand does not show its MTU in sysfs.
func portsOf(s host.Snapshot) map[string]Port {
	ports := map[string]Port{}
	for _, d := range s.Devices {
		var p Port
		if len(d.Ports) > 0 {
			p.Gbps = d.Ports[0].Rate.Value.Gbps
		}
		for _, name := range append(slices.Clone(d.Netdevs), d.Parent.Value) {
			if l, ok := s.Link(name); ok && len(d.Ports) > 0 && d.Ports[0].LinkLayer.Value == host.Ethernet {
				p.MTU = max(p.MTU, rail.RDMAMTU(l.MTU.Value))
			}
		}
		ports[d.Name] = p
	}
	return ports
}

// judge sets the proof and the rails that carried nothing.
func (m *Motion) judge() {
	m.Proof = NoConnection
	moved := map[string]bool{}
	for _, u := range m.Usages {
		m.Seconds = max(m.Seconds, u.Over.Seconds())
		if u.Pairs > 0 && m.Proof == NoConnection {
			m.Proof = NoTraffic
		}
		if u.Active > 0 {
			m.Proof, moved[u.Device] = RDMA, true
		}
	}
	if len(m.Unread) > 0 && m.Proof != RDMA {
		m.Proof, m.Why = NotProved, m.Unread[0].Got
	}
	for _, name := range m.Rails {
		if !moved[name] {
			m.Unused = append(m.Unused, name)
		}
	}
}

func (m *Motion) unread(now host.Wire) {
	for _, d := range now.Devices {
		if d.QueuePairs.IsUnreadable() {
			m.Unread = append(m.Unread, check.Evidence{Source: d.Name + ", queue pairs", Got: d.QueuePairs.Why})
		}
	}
}

// links adds the interfaces that are not those of a rail.
func (m *Motion) links(then, now host.Wire, rails []rail.Rail) {
	for _, l := range now.Links {
		i := slices.IndexFunc(then.Links, func(e host.WireLink) bool { return e.Name == l.Name })
		ofRail := slices.ContainsFunc(rails, func(r rail.Rail) bool { return r.Netdev == l.Name })
		if i < 0 || ofRail {
			continue
		}
		earlier := then.Links[i]
		seconds := now.Taken.Sub(then.Taken).Seconds()
		if seconds <= 0 || !l.Sent.IsKnown() || !l.Received.IsKnown() {
			continue
		}
		m.Links = append(m.Links, LinkRate{
			Name:     l.Name,
			Sent:     float64(l.Sent.Value-earlier.Sent.Value) / seconds,
			Received: float64(l.Received.Value-earlier.Received.Value) / seconds,
		})
	}
}
