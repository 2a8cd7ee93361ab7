package fleet

import (
	"cmp"
	"net/netip"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/nccl"
	"github.com/railhead/railhead/internal/rail"
	"github.com/railhead/railhead/internal/wire"
)

// Machine is a pod or node that was examined, or could not be.
type Machine struct {
	Ref       check.Ref // of the pod or node
	Node      string    // of the pod; "": unknown
	Group     string    // job of the pod: pods of one job are compared with each other
	Snapshot  host.Snapshot
	Unreached string // why there is no snapshot; "": there is one
}

// IsNode reports whether it is a node rather than a pod.
func (m *Machine) IsNode() bool { return m.Ref.Kind == check.Node }

// Member is a machine with the few facts of its snapshot that machines are compared by.
type Member struct {
	Ref                    check.Ref
	Node, Group, Unreached string // as in Machine
	Whole                  bool   // all running pods of its job were examined

	rails    []railFacts
	traits   map[check.ID]string // the known values
	firmware map[string]string   // of its own NICs, by model
	motion   wire.Motion         // of a pod
}

// railFacts identifies a rail and has its addresses.
type railFacts struct {
	key       string // identifies it across machines: its attachment, or else its interface
	netdev    string
	mac       string
	subnet    string       // of the address of the chosen GID; "": unknown
	addresses []netip.Addr // that no other machine may have
}

// examined is a machine with its rails.
type examined struct {
	*Machine
	rails []rail.Rail
}

// NewMember returns the facts of a machine with its rails.
func NewMember(m Machine, rails []rail.Rail) Member {
	member := Member{
		Ref: m.Ref, Node: m.Node, Group: m.Group, Unreached: m.Unreached,
		traits: map[check.ID]string{}, firmware: map[string]string{},
	}
	if m.Unreached != "" {
		return member
	}
	if !m.IsNode() {
		member.motion = wire.OfRails(m.Snapshot, rails)
	}
	x := examined{&m, rails}
	for _, t := range traits {
		if value, known := t.of(x); known {
			member.traits[t.id] = value
		}
	}
	versions := map[string][]string{}
	for _, r := range x.rails {
		member.rails = append(member.rails, x.factsOf(r))
		if d, ok := m.Snapshot.Device(r.Device); ok {
			model := cmp.Or(d.BoardID.Value, d.HCAType.Value)
			versions[model] = append(versions[model], d.Firmware.Value)
		}
	}
	delete(versions, "")
	for model, all := range versions {
		if value, known := distinct(all); known {
			member.firmware[model] = value
		}
	}
	return member
}

func (x examined) factsOf(r rail.Rail) railFacts {
	link, _ := x.Snapshot.Link(r.Netdev)
	facts := railFacts{key: r.Netdev, netdev: r.Netdev, mac: link.MAC.Value}
	for _, n := range x.Snapshot.NetworkStatus {
		if n.Interface == r.Netdev && n.Name != "" {
			facts.key = n.Name
			break
		}
	}
	for _, p := range link.Addresses.Value {
		if p.Addr().IsGlobalUnicast() {
			facts.addresses = append(facts.addresses, p.Addr())
		}
		if facts.subnet == "" && r.GID != nil && p.Addr() == r.GID.IP() {
			facts.subnet = p.Masked().String()
		}
	}
	return facts
}

// IsNode reports whether it is a node rather than a pod.
func (m Member) IsNode() bool { return m.Ref.Kind == check.Node }

// place names a pod with its node.
func (m Member) place() string {
	if m.Node == "" || m.IsNode() {
		return m.Ref.String()
	}
	return m.Ref.String() + " on " + m.Node
}

// GPUDirect returns the way from the member's NICs to GPU memory; "" if it is not known.
func (m *Member) GPUDirect() nccl.Way { return nccl.Way(m.traits[GPUDirect]) }
