package wire

import (
	"cmp"
	"fmt"
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
	NoTraffic    Proof = "idle"    // queue pairs could carry data, and no packet moved
	NoConnection Proof = "none"    // no queue pair is connected
)

// Motion has the RDMA traffic of a pod or a node between two readings.
type Motion struct {
	Proof   Proof      `json:"proof"`
	Why     string     `json:"why,omitempty"`     // of NotProved
	Refused bool       `json:"refused,omitempty"` // the kernel did not list the devices here
	Seconds float64    `json:"seconds"`
	Usages  []Usage    `json:"usages"`
	Rails   []string   `json:"rails,omitempty"`  // of the pod
	Unused  []string   `json:"unused,omitempty"` // rails over which no packet moved
	Links   []LinkRate `json:"links,omitempty"`  // interfaces whose traffic is not RDMA
	// MayUseNVLink: the pod has an IMEX channel, so NVLink may join it to other nodes (MNNVL), and no packet moved over
	// RDMA. Idle rails are right then.
	MayUseNVLink bool             `json:"mayUseNVLink,omitempty"`
	Unread       []check.Evidence `json:"unread,omitempty"` // devices that could not be read
	// OutOfSequence counts packets that were lost or reordered; absent if the devices do not count them.
	OutOfSequence host.Fact[uint64] `json:"outOfSequence,omitzero"`

	Openers []Opener `json:"openers,omitempty"` // processes without a queue pair

	ends        []End
	ports       map[string]Port
	imex        bool // the pod has an IMEX channel
	nodeNetwork bool // it has an interface of the node, which may carry the traffic of other pods
}

// LinkRate is the traffic of an interface, in bytes per second.
type LinkRate struct {
	Name     string  `json:"name"`
	Sent     float64 `json:"sent"`
	Received float64 `json:"received"`
}

// Of compares the two readings of a Snapshot.
func Of(s host.Snapshot) Motion { return OfRails(s, rail.Resolve(s, rail.Pod).Rails) }

// OfRails is Of for a pod whose rails are known.
func OfRails(s host.Snapshot, rails []rail.Rail) Motion {
	if s.Earlier == nil {
		return between(host.Fact[host.Wire]{}, s, rails)
	}
	return between(s.Earlier.Wire, s, rails)
}

// Between compares a machine with an earlier reading of it. Rates need the MTU and the rate of the ports, which it
// takes from the Snapshot.
func Between(before host.Fact[host.Wire], after host.Snapshot) Motion {
	return between(before, after, rail.Resolve(after, rail.Pod).Rails)
}

func between(before host.Fact[host.Wire], after host.Snapshot, rails []rail.Rail) Motion {
	m := Motion{imex: after.IMEXChannels.Value > 0}
	for _, r := range rails {
		m.Rails = append(m.Rails, r.Device)
	}
	then, known := before.Get()
	now, still := after.Wire.Get()
	switch {
	case after.Wire.IsZero() && len(after.Devices) == 0:
		m.Proof, m.Why, m.MayUseNVLink = NoConnection, "the kernel has no RDMA", m.imex
		return m
	case !known || !still:
		m.Proof, m.Why = NotProved, cmp.Or(after.Wire.Why, before.Why, "they were not read twice")
		m.Refused = after.Wire.IsUnreadable() || before.IsUnreadable()
		return m
	}
	machine := Machine{Before: then, After: now, Ports: portsOf(after)}
	all := machine.Ends()
	foreign := m.own(all, rails)
	m.Openers = openers(now, all)
	m.ports = machine.Ports
	m.Usages = usages(m.ends, m.ports)
	m.unread(now)
	m.judge()
	m.links(then, after, rails)
	if m.Proof == NoConnection {
		m.unlisted(machine, foreign)
	}
	m.outOfSequence(machine)
	return m
}

func (m *Motion) outOfSequence(machine Machine) {
	for _, d := range machine.After.Devices {
		earlier, _ := machine.Before.Device(d.Name)
		if lost, counted := grown(earlier, d, lossCounters).Get(); counted {
			m.OutOfSequence = host.Know(m.OutOfSequence.Value + lost)
		}
	}
}

// own keeps the queue pairs of this pod. Where pods share devices, the kernel also lists the queue pairs of other pods,
// without their process. A virtual function belongs to one pod, whose other containers may use it. own returns a rail
// with queue pairs that may belong to this pod or to another one.
func (m *Motion) own(all []End, rails []rail.Rail) (foreign string) {
	for _, e := range all {
		at := slices.IndexFunc(rails, func(r rail.Rail) bool { return r.Device == e.Device })
		switch {
		case e.PID != 0 || at >= 0 && rails[at].Virtual:
			m.ends = append(m.ends, e)
		case at >= 0:
			foreign = e.Device
		}
	}
	return foreign
}

// unlisted withdraws "no connection" if there may be queue pairs that the kernel does not list, or not as this pod's.
func (m *Motion) unlisted(machine Machine, foreign string) {
	if foreign != "" {
		m.Proof, m.Why = NotProved, foreign+" has queue pairs of another container or pod"
	}
	for _, d := range machine.After.Devices {
		then, _ := machine.Before.Device(d.Name)
		requests := grown(then, d, requestCounters).Value
		if requests > 0 && slices.Contains(m.Rails, d.Name) {
			m.Proof = NotProved
			m.Why = fmt.Sprintf("%s served %d requests of queue pairs that the kernel does not list", d.Name, requests)
		}
	}
}

// without returns the motion as if some ends had sent nothing.
func (m Motion) without(repeated map[*End]bool) Motion {
	ends, changed := slices.Clone(m.ends), false
	for i := range m.ends {
		if repeated[&m.ends[i]] {
			ends[i].Sent, changed = 0, true
		}
	}
	if changed {
		m.ends, m.Usages = ends, usages(ends, m.ports)
		m.judge()
	}
	return m
}

// judge sets the proof and the rails that carried nothing.
func (m *Motion) judge() {
	m.Proof, m.Unused = NoConnection, nil
	moved := map[string]bool{}
	for _, u := range m.Usages {
		m.Seconds = max(m.Seconds, u.Over.Seconds())
		if u.Pairs+u.Datagrams > 0 && m.Proof == NoConnection {
			m.Proof = NoTraffic
		}
		if u.Active > 0 {
			m.Proof, moved[u.Device] = RDMA, true
		}
	}
	if m.Proof == NoTraffic && slices.ContainsFunc(m.ends, End.isNew) {
		m.Proof, m.Why = NotProved, "they connected after the first reading"
	}
	if len(m.Unread) > 0 && m.Proof != RDMA {
		m.Proof, m.Why = NotProved, m.Unread[0].Got
	}
	m.MayUseNVLink = m.imex && (m.Proof == NoTraffic || m.Proof == NoConnection)
	for _, name := range m.Rails {
		if !moved[name] && !m.unknown(name) {
			m.Unused = append(m.Unused, name)
		}
	}
}

// unknown reports whether packets may have moved over a device that were not counted.
func (m *Motion) unknown(device string) bool {
	return slices.ContainsFunc(m.Unread, func(e check.Evidence) bool { return e.Source == queuePairsOf(device) }) ||
		slices.ContainsFunc(m.ends, func(e End) bool { return e.Device == device && e.isNew() })
}

func (m *Motion) unread(now host.Wire) {
	for _, d := range now.Devices {
		if d.QueuePairs.IsUnreadable() {
			m.Unread = append(m.Unread, check.Evidence{Source: queuePairsOf(d.Name), Got: d.QueuePairs.Why})
		}
	}
}

// queuePairsOf is the source of the evidence about a device that could not be read.
func queuePairsOf(device string) string { return device + ", queue pairs" }

// links adds the interfaces that belong to no rail. Without a connection it adds the rails' interfaces, too: what they
// carry is not RDMA.
func (m *Motion) links(then host.Wire, after host.Snapshot, rails []rail.Rail) {
	now := after.Wire.Value
	seconds := now.Taken.Sub(then.Taken).Seconds()
	for _, l := range now.Links {
		ofRail := slices.ContainsFunc(rails, func(r rail.Rail) bool { return r.Netdev == l.Name })
		link, _ := after.Link(l.Name)
		m.nodeNetwork = m.nodeNetwork || !ofRail && link.PCI.IsKnown()
		i := slices.IndexFunc(then.Links, func(e host.WireLink) bool { return e.Name == l.Name })
		if i < 0 || seconds <= 0 || ofRail && m.Proof != NoConnection {
			continue
		}
		sent, received := more(then.Links[i].Sent, l.Sent), more(then.Links[i].Received, l.Received)
		if sent.IsKnown() && received.IsKnown() {
			rate := LinkRate{l.Name, float64(sent.Value) / seconds, float64(received.Value) / seconds}
			m.Links = append(m.Links, rate)
		}
	}
}
