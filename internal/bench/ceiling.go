package bench

import (
	"errors"
	"fmt"

	"github.com/railhead/railhead/internal/host"
)

// Layer is the encapsulation of payload on the wire.
type Layer string

// The layers whose overhead is known.
const (
	RoCEv2     Layer = "RoCE v2/IPv4"
	RoCEv2IPv6 Layer = "RoCE v2/IPv6"
	InfiniBand Layer = "InfiniBand"
	TCP        Layer = "TCP/IPv4"
)

// Bytes on the wire in addition to each packet's payload.
const (
	ethernetGap     = 8 + 12 // preamble with start delimiter, inter-packet gap (IEEE 802.3 clauses 3.2.1, 4.4.2)
	ethernetHeader  = 14     // without a VLAN's 4 (IEEE 802.3 clause 3.2)
	ethernetFCS     = 4      // IEEE 802.3 clause 3.2.9
	ipv4Header      = 20     // RFC 791
	ipv6Header      = 40     // RFC 8200
	udpHeader       = 8      // RFC 768; RoCE v2 is UDP to port 4791 (InfiniBand Architecture 1.x, Annex A17)
	tcpHeader       = 20     // RFC 9293
	tcpTimestamps   = 12     // RFC 7323, padded; Linux sends it by default
	transportHeader = 12     // BTH (InfiniBand Architecture 1.x vol. 1, 9.2); RETH is in a message's first packet only
	invariantCRC    = 4      // ICRC (7.8.1)
	localRoute      = 8      // LRH (7.7)
	variantCRC      = 2      // VCRC (7.8.2)
)

const ethernet = ethernetGap + ethernetHeader + ethernetFCS

// overhead returns the bytes of a packet on the wire that are not payload, outside and inside the MTU.
func (l Layer) overhead() (outside, inside int, err error) {
	switch l {
	case RoCEv2:
		return ethernet + ipv4Header + udpHeader + transportHeader + invariantCRC, 0, nil
	case RoCEv2IPv6:
		return ethernet + ipv6Header + udpHeader + transportHeader + invariantCRC, 0, nil
	case InfiniBand:
		return localRoute + transportHeader + invariantCRC + variantCRC, 0, nil
	case TCP:
		return ethernet, ipv4Header + tcpHeader + tcpTimestamps, nil
	}
	return 0, 0, fmt.Errorf("payload of %q: no such layer", l)
}

// Efficiency returns the part of the rate of a wire that payload can use. mtu is the MTU of RDMA (256 to 4096), or for
// TCP the MTU of the interface.
func (l Layer) Efficiency(mtu int) (float64, error) {
	outside, inside, err := l.overhead()
	if err != nil {
		return 0, err
	}
	if mtu <= inside {
		return 0, fmt.Errorf("payload of %s: MTU %d holds none", l, mtu)
	}
	return float64(mtu-inside) / float64(mtu+outside), nil
}

// Path leads from memory to the wire at one end of a link.
type Path struct {
	Rate  Gbps // of the port, after encoding: /sys/class/infiniband/*/ports/*/rate
	Layer Layer
	MTU   int  // bytes; for TCP the interface's MTU
	Slot  Slot // zero: unknown
}

// Limit names the part of a path that determines its ceiling.
type Limit string

// The limits of a path.
const (
	ByLink Limit = "link"
	ByPCIe Limit = "PCIe slot"
)

// Ceiling is the most payload that a path can carry one way.
type Ceiling struct {
	Rate Gbps            `json:"gbps"`
	By   Limit           `json:"by"`
	Link Gbps            `json:"linkGbps"`
	PCIe host.Fact[Gbps] `json:"pcieGbps,omitzero"` // absent: the slot is unknown, and Rate may be too high
}

// Ceiling returns the lower limit of the link and the slot.
func (p Path) Ceiling() (Ceiling, error) {
	efficiency, err := p.Layer.Efficiency(p.MTU)
	if err != nil {
		return Ceiling{}, err
	}
	if !(p.Rate > 0) {
		return Ceiling{}, fmt.Errorf("ceiling of a link: its rate is %s", p.Rate)
	}
	c := Ceiling{By: ByLink, Link: p.Rate * Gbps(efficiency)}
	c.Rate = c.Link
	if pcie, known := p.Slot.Payload(); known {
		c.PCIe = host.Know(pcie)
		if pcie < c.Link {
			c.Rate, c.By = pcie, ByPCIe
		}
	}
	return c, nil
}

// CeilingOfAll returns the ceiling of a rail while all rails of the pod carry data: its part of the slot counts.
func (r PodRail) CeilingOfAll() Ceiling {
	c := r.Ceiling
	if pcie, known := c.PCIe.Get(); known && r.SlotShare > 0 && pcie*Gbps(r.SlotShare) < c.Rate {
		c.Rate, c.By = pcie*Gbps(r.SlotShare), ByPCIe
	}
	return c
}

// Between returns the ceiling of a link: the lower one of its two ends.
func Between(a, b Ceiling) Ceiling {
	if b.Rate < a.Rate {
		return b
	}
	return a
}

// RingCeiling returns the highest busbw that a ring all-reduce between nodes can have: the sum of the rails of the
// node with the least. nodes holds the ceilings of the rails of each node. Trees, NVLS and SHARP can exceed it: use
// NCCL_ALGO=Ring to judge a network.
func RingCeiling(nodes [][]Ceiling) (GBps, error) {
	if len(nodes) < 2 {
		return 0, fmt.Errorf("ceiling of a ring: %d nodes have no network between them", len(nodes))
	}
	least := Gbps(-1)
	for _, rails := range nodes {
		var sum Gbps
		for _, r := range rails {
			if r.Rate <= 0 {
				return 0, errors.New("ceiling of a ring: that of a rail is unknown")
			}
			sum += r.Rate
		}
		if least < 0 || sum < least {
			least = sum
		}
	}
	return least.GBps(), nil
}
