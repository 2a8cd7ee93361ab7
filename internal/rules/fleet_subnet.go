package rules

import (
	"fmt"
	"maps"
	"slices"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/rail"
	"github.com/railhead/railhead/internal/words"
)

// subnets compares which subnet each rail is in. Where every machine, or every group below one switch, has a subnet
// of its own (a routed fabric) there is no norm, and none is missed; where a subnet belongs to one rail here and to
// another there, the cables or the attachments are crossed.
func subnets(members []member) []check.Finding {
	rails := map[string]division{}
	for _, key := range railKeys(members) {
		d := divide(members, func(m member) (string, bool) { return m.subnet(key) })
		rails[key] = d
	}
	if f, crossed := crossing(members, rails); crossed {
		return []check.Finding{f}
	}
	var findings []check.Finding
	for _, key := range slices.Sorted(maps.Keys(rails)) {
		d := rails[key]
		if len(d.groups) < 2 || !d.norm() { // alike, or routed
			continue
		}
		f := d.finding(check.Finding{Check: RailSubnet, Status: check.Warn, Fix: subnetFix()}, "subnet of rail "+key, "addresses of rail "+key,
			"where nothing routes between them, these ranks do not reach each other on it")
		f.About = append(f.About, linksOf(members, key, f.About)...)
		findings = append(findings, f)
	}
	return findings
}

func subnetFix() *check.Fix {
	return &check.Fix{
		Text: "Give each rail one subnet on all nodes, or route between its subnets.", Who: check.Admin,
		Commands: []string{"kubectl get sriovnetworks -A -o custom-columns=NAME:.metadata.name,IPAM:.spec.ipam"},
	}
}

// crossing is a subnet that belongs to different rails on different machines, while each machine's rails have one each.
func crossing(members []member, rails map[string]division) (check.Finding, bool) {
	type use struct {
		rail, name string
		ref        check.Ref
	}
	first := map[string]use{}
	for _, key := range slices.Sorted(maps.Keys(rails)) {
		for _, g := range rails[key].groups {
			other, twice := first[g.value]
			if !twice {
				first[g.value] = use{key, g.names[0], g.refs[0]}
				continue
			}
			if slices.Contains(g.refs, other.ref) { // one subnet for several rails of one machine is another matter
				continue
			}
			about := append([]check.Ref{other.ref}, g.refs...)
			about = append(about, linksOf(members, other.rail, []check.Ref{other.ref})...)
			about = append(about, linksOf(members, key, g.refs)...)
			return check.Finding{
				Check: RailSubnet, Status: check.Fail, Subject: check.Named(check.Subnet, key), About: about,
				Summary: fmt.Sprintf("the rails are crossed: subnet %s is that of rail %s on %s and of rail %s on %s", g.value, other.rail, other.name, key, words.Few(g.names, 6)),
				Evidence: []check.Evidence{
					{Source: "addresses of rail " + other.rail + " on " + other.name, Got: g.value},
					{Source: "addresses of rail " + key + " on " + words.Few(g.names, 6), Got: g.value, Want: "the subnet of rail " + key + " on the others"},
				},
				Fix: &check.Fix{Text: "Let each attachment name the resource of its own rail on all nodes; look at the cabling where it does.", Who: check.Admin, Commands: subnetFix().Commands},
			}, true
		}
	}
	return check.Finding{}, false
}

// linksOf returns the interfaces of a rail on those of the members that are named.
func linksOf(members []member, key string, of []check.Ref) []check.Ref {
	var links []check.Ref
	for _, m := range members {
		for _, r := range m.rails {
			if r.Netdev != "" && m.railKey(r) == key && slices.Contains(of, m.ref) {
				links = append(links, check.LinkRef(r.Netdev).On(m.ref))
			}
		}
	}
	return links
}

// railKeys are the names by which machines have the same rail: that of the attachment, or else that of the interface.
func railKeys(members []member) []string {
	all := map[string]bool{}
	for _, m := range members {
		for _, r := range m.rails {
			if r.Netdev != "" {
				all[m.railKey(r)] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(all))
}

func (m member) railKey(r rail.Rail) string {
	for _, n := range m.s.NetworkStatus {
		if n.Interface == r.Netdev && n.Name != "" {
			return n.Name
		}
	}
	return r.Netdev
}

// subnet returns the subnet of a machine's rail; of several addresses it uses that of the chosen GID.
func (m member) subnet(key string) (string, bool) {
	for _, r := range m.rails {
		if r.Netdev == "" || m.railKey(r) != key || r.GID == nil {
			continue
		}
		link, _ := m.s.Link(r.Netdev)
		for _, p := range link.Addresses.Value {
			if p.Addr() == r.GID.IP() {
				return p.Masked().String(), true
			}
		}
	}
	return "", false
}
