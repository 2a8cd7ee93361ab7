package sysfs

import (
	"errors"
	"net/netip"
	"path"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/host"
)

// parseNeighbours reads /proc/net/arp, lines "10.0.0.2  0x1  0x2  52:54:00:aa:00:01  *  net1" (net/ipv4/arp.c
// arp_format_neigh_entry).
func parseNeighbours(table string) []host.Neighbour {
	var all []host.Neighbour
	for line := range strings.Lines(table) {
		f := strings.Fields(line)
		if len(f) != 6 {
			continue
		}
		addr, err := netip.ParseAddr(f[0])
		flags, err2 := parseInt(f[2])
		if err != nil || err2 != nil {
			continue
		}
		const complete = 2 // ATF_COM
		n := host.Neighbour{Link: f[5], Addr: addr, Resolved: flags&complete != 0}
		if n.Resolved {
			n.MAC = strings.ToLower(f[3])
		}
		all = append(all, n)
	}
	return all
}

func arpRules(t *tree, link string) host.ARPRules {
	of := func(name string) host.Fact[int] {
		return parsed(t, path.Join("proc/sys/net/ipv4/conf", link, name), parseInt)
	}
	return host.ARPRules{Ignore: of("arp_ignore"), Announce: of("arp_announce"), RPFilter: of("rp_filter")}
}

// railAddress is a RoCE rail's interface with its IPv4 network.
type railAddress struct {
	link   *host.Link
	prefix netip.Prefix
}

// railAddresses returns the interfaces that own a GID of an RDMA device, each once.
func railAddresses(s *host.Snapshot) []railAddress {
	var all []railAddress
	for _, d := range s.Devices {
		for _, p := range d.Ports {
			for _, g := range p.GIDs {
				a, ok := railAddressOf(s, g.IP())
				if ok && !slices.ContainsFunc(all, func(b railAddress) bool { return a.link == b.link }) {
					all = append(all, a)
				}
			}
		}
	}
	return all
}

func railAddressOf(s *host.Snapshot, ip netip.Addr) (railAddress, bool) {
	for i := range s.Links {
		for _, p := range s.Links[i].Addresses.Value {
			if ip.Is4() && p.Addr() == ip {
				return railAddress{&s.Links[i], p}, true
			}
		}
	}
	return railAddress{}, false
}

// maxRails bounds the number of lookups: each pair of rails needs one.
const maxRails = 16

// readRailNetwork reads how the kernel reaches the network of each rail from the others.
func readRailNetwork(in *input, s *host.Snapshot) {
	t := in.tree
	rails := railAddresses(s)
	if len(rails) == 0 {
		return
	}
	s.ARP = arpRules(t, "all")
	s.Neighbours = parseNeighbours(t.file("proc/net/arp").Value)
	for _, a := range rails {
		a.link.ARP = arpRules(t, a.link.Name)
	}
	if in.probes.Route == nil || len(rails) > maxRails {
		return
	}
	routes := parseRoutes(t.file("proc/net/route").Value)
	for _, from := range rails {
		for _, to := range rails {
			if from.link == to.link || from.prefix.Overlaps(to.prefix) {
				continue
			}
			if l, ok := lookUp(in.probes.Route, from, to); ok {
				l.OnLink = slices.ContainsFunc(routes, func(v ipv4Route) bool {
					return v.link == l.From && !v.gateway && v.to.Bits() > 0 && v.to.Contains(l.Dest)
				})
				s.Lookups = append(s.Lookups, l)
			}
		}
	}
}

func lookUp(route routeProbe, from, to railAddress) (host.Lookup, bool) {
	dest := to.prefix.Addr().Next()
	if !to.prefix.Contains(dest) {
		if dest = to.prefix.Addr().Prev(); !to.prefix.Contains(dest) {
			return host.Lookup{}, false // a network of one address
		}
	}
	l := host.Lookup{From: from.link.Name, Toward: to.link.Name, Dest: dest}
	gateway, err := route(from.prefix.Addr(), from.link.Index.Value, dest)
	switch {
	case errors.Is(err, errNotProbed):
		return l, false
	case err != nil:
		l.Err = reason(err)
	}
	l.Gateway = gateway
	return l, true
}
