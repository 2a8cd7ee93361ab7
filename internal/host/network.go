package host

import "net/netip"

// Neighbour is one entry of the table by which the kernel finds IPv4 hosts of its own networks.
type Neighbour struct {
	Link     string     `json:"link"`
	Addr     netip.Addr `json:"addr"`
	MAC      string     `json:"mac,omitempty"`
	Resolved bool       `json:"resolved,omitempty"`
}

// ARPRules decide which interface answers for which address (Documentation/networking/ip-sysctl.rst).
type ARPRules struct {
	Ignore   Fact[int] `json:"ignore,omitzero"`   // arp_ignore
	Announce Fact[int] `json:"announce,omitzero"` // arp_announce
	RPFilter Fact[int] `json:"rpFilter,omitzero"` // rp_filter
}

// Lookup is the kernel's answer to how a rail reaches the network of another one, bound to the rail as RoCE is. Without
// a route the kernel takes the destination for a neighbour on the interface (net/ipv4/route.c
// ip_route_output_key_hash_rcu). Gateway is then not valid.
type Lookup struct {
	From    string     `json:"from"` // interface
	Toward  string     `json:"toward"`
	Dest    netip.Addr `json:"dest"`
	Gateway netip.Addr `json:"gateway,omitzero"`
	// OnLink reports that a route of the main table makes Dest a neighbour at From.
	OnLink bool   `json:"onLink,omitempty"`
	Err    string `json:"err,omitempty"`
}

// VF is a virtual function as its PF's interface describes it.
type VF struct {
	Index     int    `json:"index"`
	MAC       string `json:"mac,omitempty"`       // assigned by the PF, "" for none
	LinkState string `json:"linkState,omitempty"` // auto, enable, disable
	SpoofChk  bool   `json:"spoofChk,omitempty"`
	NodeGUID  string `json:"nodeGUID,omitempty"` // InfiniBand only
	// Trust allows another MAC and promiscuous mode (ip-link(8)). It is absent if the driver does not report it.
	Trust Fact[bool] `json:"trust,omitzero"`
}

// OwnAddress returns the interface of this network namespace that has the address, "" when none has; known is false
// when no interface's addresses are known.
func (s *Snapshot) OwnAddress(ip netip.Addr) (link string, known bool) {
	return OwnAddress(s.Links, ip)
}

// OwnAddress returns the link that has the address, "" if none has; known is false if no link's addresses are known.
func OwnAddress(links []Link, ip netip.Addr) (link string, known bool) {
	for _, l := range links {
		prefixes, ok := l.Addresses.Get()
		known = known || ok
		for _, p := range prefixes {
			if p.Addr().WithZone("") == ip {
				return l.Name, true
			}
		}
	}
	return "", known
}
