package fault

import (
	"context"
	"errors"
	"fmt"
)

// addressFaults are faults of addresses and GIDs.
func addressFaults() []Fault {
	return []Fault{
		{
			Name: "no-address", Title: "the interfaces of a rail have no address at all",
			make: eachFunction(keepAddresses, "ip addr flush dev DEV"),
			heal: eachFunction(restoreAddresses),
		},
		{
			Name:  "link-local-only",
			Title: "the interfaces of a rail have only link-local addresses, and so only such GIDs",
			make:  eachFunction(keepAddresses, "ip -4 addr flush dev DEV"),
			heal:  eachFunction(restoreAddresses),
		},
		{
			Name: "duplicate-address", Title: "two machines have the same address on a rail",
			make: duplicateAddress,
			heal: eachFunction(restoreAddresses, "ip neigh flush dev DEV"),
		},
		{
			Name: "arp-flux", Title: "two interfaces in one subnet answer for each other: ping works, RDMA hangs",
			// Which of them answers first is chance: the right one does not answer at all here.
			make: sequence(arp("0", "8", "0"), onPeer(flushNeighbours)),
			heal: sequence(arp("1", "1", "2"), onPeer(flushNeighbours)),
		},
		{
			Name: "rail-isolation", Title: "one rail does not reach the other, though a route says so",
			// In front of the route of the other rail, which stays: to replace it would take it away for good.
			make: eachFunction("ip route show OTHER dev DEV | grep -q . || ip route prepend OTHER dev DEV"),
			heal: eachFunction("ip route del OTHER dev DEV 2> /dev/null || true", "ip neigh flush dev DEV"),
		},
	}
}

// duplicateAddress gives the functions the addresses of their peers, as two counters of host-local IPAM do.
func duplicateAddress(ctx context.Context, m *Machine) error {
	if m.Peer == nil {
		return errors.New("there is no other machine")
	}
	own, err := m.Functions(ctx, m.Config.Cards[0])
	if err != nil {
		return err
	}
	theirs, err := m.Peer.Functions(ctx, m.Peer.Config.Cards[0])
	if err != nil {
		return err
	}
	for i, f := range own {
		if i >= len(theirs) || !f.Address.IsValid() || !theirs[i].Address.IsValid() {
			continue
		}
		add := fmt.Sprintf("ip addr add %s dev DEV", theirs[i].Address)
		if err := m.shell(ctx, f, keepAddresses, "ip -4 addr flush dev DEV", add); err != nil {
			return err
		}
	}
	return nil
}

// arp sets who answers for an address, for all interfaces and for the first function: 0 is any interface, 1 only that
// which has it, 8 none; and how they introduce themselves (Documentation/networking/ip-sysctl.rst).
func arp(all, first, announce string) func(context.Context, *Machine) error {
	return func(ctx context.Context, m *Machine) error {
		functions, err := m.Functions(ctx, m.Config.Cards[0])
		if err != nil {
			return err
		}
		for i, f := range functions {
			ignore := all
			if i == 0 {
				ignore = first
			}
			const conf = "/proc/sys/net/ipv4/conf/"
			err := m.shell(ctx, f,
				"echo "+all+" > "+conf+"all/arp_ignore",
				"echo "+ignore+" > "+conf+"DEV/arp_ignore",
				"echo "+announce+" > "+conf+"all/arp_announce",
				"ip neigh flush dev DEV",
			)
			if err != nil {
				return err
			}
		}
		return nil
	}
}

func flushNeighbours(ctx context.Context, m *Machine) error {
	return eachFunction("ip neigh flush dev DEV")(ctx, m)
}

func onPeer(do func(context.Context, *Machine) error) func(context.Context, *Machine) error {
	return func(ctx context.Context, m *Machine) error {
		if m.Peer == nil {
			return errors.New("there is no other machine")
		}
		return do(ctx, m.Peer)
	}
}
