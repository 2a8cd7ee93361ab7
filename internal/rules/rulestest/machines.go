// Package rulestest has the machines and clusters that the tests of several judges share.
package rulestest

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/host/hosttest"
	"github.com/railhead/railhead/internal/rules/fleet"
)

// Recorded returns the snapshot of a machine in testdata/hosts.
func Recorded(t testing.TB, name string) host.Snapshot {
	t.Helper()
	return hosttest.Read(t, name)
}

// Job returns n healthy pods of one job, h-kim-1 and on: one recording with other addresses for each pod.
func Job(t testing.TB, n int) []fleet.Machine {
	t.Helper()
	base := Recorded(t, "pod-roce-4vf")
	all := make([]fleet.Machine, n)
	for i := range all {
		all[i] = jobPod(base, i+1)
	}
	return all
}

func jobPod(base host.Snapshot, i int) fleet.Machine {
	m := fleet.Machine{
		Ref:      check.PodRef("train", fmt.Sprintf("h-kim-%d", i)),
		Node:     fmt.Sprintf("gpu-%d", i),
		Snapshot: base,
	}
	s := &m.Snapshot
	s.Links = slices.Clone(s.Links)
	moved := map[netip.Addr]netip.Addr{}
	for k, l := range s.Links {
		if l.Name == "lo" || l.Addresses.Value == nil {
			continue
		}
		addresses := slices.Clone(l.Addresses.Value)
		for n, p := range addresses {
			if p.Addr().Is4() {
				octets := p.Addr().As4()
				octets[1], octets[2], octets[3] = byte(10+k), byte(i>>8), byte(i)
				to := netip.AddrFrom4(octets)
				moved[p.Addr()] = to
				addresses[n] = netip.PrefixFrom(to, 16)
			}
		}
		s.Links[k].Addresses = host.Know(addresses)
		s.Links[k].MAC = host.Know(fmt.Sprintf("02:00:%02x:%02x:%02x:%02x", k, i>>16, i>>8&255, i&255))
	}
	EachGID(&m, func(g *host.GID) {
		if to, ok := moved[g.IP()]; ok {
			g.Addr = netip.AddrFrom16(to.As16())
		}
	})
	return m
}

// EachLink changes the interfaces of a pod's rails.
func EachLink(m *fleet.Machine, change func(*host.Link)) {
	m.Snapshot.Links = slices.Clone(m.Snapshot.Links)
	for i := range m.Snapshot.Links {
		if strings.HasPrefix(m.Snapshot.Links[i].Name, "net") {
			change(&m.Snapshot.Links[i])
		}
	}
}

// EachDevice changes the devices of a pod.
func EachDevice(m *fleet.Machine, change func(*host.Device)) {
	m.Snapshot.Devices = slices.Clone(m.Snapshot.Devices)
	for i := range m.Snapshot.Devices {
		d := &m.Snapshot.Devices[i]
		d.Ports = slices.Clone(d.Ports)
		change(d)
	}
}

// EachGID changes the GIDs of a pod's devices.
func EachGID(m *fleet.Machine, change func(*host.GID)) {
	EachDevice(m, func(d *host.Device) {
		for p := range d.Ports {
			d.Ports[p].GIDs = slices.Clone(d.Ports[p].GIDs)
			for g := range d.Ports[p].GIDs {
				change(&d.Ports[p].GIDs[g])
			}
		}
	})
}

// SmallMTU gives the rails of a pod an MTU of 1500.
func SmallMTU(m *fleet.Machine) {
	EachLink(m, func(l *host.Link) { l.MTU = host.Know(1500) })
}

// CrossRails exchanges the first two rails of a pod.
func CrossRails(m *fleet.Machine) { rename(m, map[string]string{"net1": "net2", "net2": "net1"}) }

// RenameRails gives the rails of a pod on the node's own network the names of other slots.
func RenameRails(m *fleet.Machine) {
	m.Snapshot.NetworkStatus = nil
	rename(m, map[string]string{"net1": "enp1s0", "net2": "enp2s0", "net3": "enp3s0", "net4": "enp4s0"})
}

func rename(m *fleet.Machine, other map[string]string) {
	exchange := func(name *string) {
		if to, ok := other[*name]; ok {
			*name = to
		}
	}
	EachLink(m, func(l *host.Link) { exchange(&l.Name) })
	EachGID(m, func(g *host.GID) { exchange(&g.Netdev.Value) })
	EachDevice(m, func(d *host.Device) {
		d.Netdevs = slices.Clone(d.Netdevs)
		for i := range d.Netdevs {
			exchange(&d.Netdevs[i])
		}
	})
}

// ShareAddresses gives a pod the devices and addresses of another one, but not its MACs.
func ShareAddresses(m, of *fleet.Machine) {
	links := slices.Clone(of.Snapshot.Links)
	for i := range links {
		links[i].MAC = m.Snapshot.Links[i].MAC
	}
	m.Snapshot.Links, m.Snapshot.Devices = links, of.Snapshot.Devices
}
