package host

import (
	"errors"
	"net/netip"
	"path"
	"slices"
	"strings"
)

// Neighbour is one entry of the table by which the kernel finds IPv4 hosts of its own networks.
type Neighbour struct {
	Link     string     `json:"link"`
	Addr     netip.Addr `json:"addr"`
	MAC      string     `json:"mac,omitempty"`
	Resolved bool       `json:"resolved,omitempty"` // it answered
}

// ARPRules are the settings that decide which interface answers for which address (Documentation/networking/ip-sysctl.rst).
type ARPRules struct {
	Ignore   Fact[int] `json:"ignore,omitzero"`   // arp_ignore
	Announce Fact[int] `json:"announce,omitzero"` // arp_announce
	RPFilter Fact[int] `json:"rpFilter,omitzero"` // rp_filter
}

// Lookup is the kernel's answer to how a rail reaches the network of another one: bound to the rail, as RoCE is. Without a
// route the kernel takes what is bound to an interface for a neighbour there (net/ipv4/route.c
// ip_route_output_key_hash_rcu): Gateway is then not valid.
type Lookup struct {
	From    string     `json:"from"` // interface
	Toward  string     `json:"toward"`
	Dest    netip.Addr `json:"dest"`
	Gateway netip.Addr `json:"gateway,omitzero"`
	// OnLink is that a route of the main table says so: there Dest is a neighbour at From.
	OnLink bool   `json:"onLink,omitempty"`
	Err    string `json:"err,omitempty"`
}

// neighbours reads /proc/net/arp.
func (r *reader) neighbours() []Neighbour { return parseNeighbours(r.file("proc/net/arp").Value) }

// parseNeighbours reads lines "10.0.0.2  0x1  0x2  52:54:00:aa:00:01  *  net1" (net/ipv4/arp.c arp_format_neigh_entry).
func parseNeighbours(table string) []Neighbour {
	var all []Neighbour
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
		n := Neighbour{Link: f[5], Addr: addr, Resolved: flags&complete != 0}
		if n.Resolved {
			n.MAC = strings.ToLower(f[3])
		}
		all = append(all, n)
	}
	return all
}

// arpRules reads the settings of one interface, or of "all".
func (r *reader) arpRules(link string) ARPRules {
	of := func(name string) Fact[int] {
		return parsed(r, path.Join("proc/sys/net/ipv4/conf", link, name), parseInt)
	}
	return ARPRules{Ignore: of("arp_ignore"), Announce: of("arp_announce"), RPFilter: of("rp_filter")}
}

// railAddress is a RoCE rail's interface with its IPv4 network.
type railAddress struct {
	link   *Link
	prefix netip.Prefix
}

// railAddresses are the interfaces that own a GID of an RDMA device, each once.
func railAddresses(s *Snapshot) []railAddress {
	var all []railAddress
	for _, d := range s.Devices {
		for _, p := range d.Ports {
			for _, g := range p.GIDs {
				if a, ok := s.railAddress(g.IP()); ok && !slices.ContainsFunc(all, func(b railAddress) bool { return a.link == b.link }) {
					all = append(all, a)
				}
			}
		}
	}
	return all
}

func (s *Snapshot) railAddress(ip netip.Addr) (railAddress, bool) {
	for i := range s.Links {
		for _, p := range s.Links[i].Addresses.Value {
			if ip.Is4() && p.Addr() == ip {
				return railAddress{&s.Links[i], p}, true
			}
		}
	}
	return railAddress{}, false
}

// maxRails bounds the lookups, of which there is one for each pair of rails.
const maxRails = 16

// railNetwork reads what the rails' networks need of each other.
func (r *reader) railNetwork(s *Snapshot) {
	rails := railAddresses(s)
	if len(rails) == 0 {
		return
	}
	s.ARP = r.arpRules("all")
	s.Neighbours = r.neighbours()
	for _, a := range rails {
		a.link.ARP = r.arpRules(a.link.Name)
	}
	if r.probes.Route == nil || len(rails) > maxRails {
		return
	}
	routes := parseRoutes(r.file("proc/net/route").Value)
	for _, from := range rails {
		for _, to := range rails {
			if from.link != to.link && !from.prefix.Overlaps(to.prefix) {
				if l, ok := r.lookup(from, to); ok {
					l.OnLink = slices.ContainsFunc(routes, func(v ipv4Route) bool {
						return v.link == l.From && !v.gateway && v.to.Bits() > 0 && v.to.Contains(l.Dest)
					})
					s.Lookups = append(s.Lookups, l)
				}
			}
		}
	}
}

func (r *reader) lookup(from, to railAddress) (Lookup, bool) {
	dest := to.prefix.Addr().Next()
	if !to.prefix.Contains(dest) {
		if dest = to.prefix.Addr().Prev(); !to.prefix.Contains(dest) {
			return Lookup{}, false // a network of one address
		}
	}
	l := Lookup{From: from.link.Name, Toward: to.link.Name, Dest: dest}
	gateway, err := r.probes.Route(from.prefix.Addr(), from.link.Index.Value, dest)
	switch {
	case errors.Is(err, errNotProbed):
		return l, false
	case err != nil:
		l.Err = reason(err)
	}
	l.Gateway = gateway
	return l, true
}
