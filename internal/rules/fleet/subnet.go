package fleet

import (
	"fmt"
	"maps"
	"slices"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/words"
)

// railSubnets groups the machines by their subnet of one rail.
type railSubnets struct {
	rail string
	division
}

// subnets compares the subnets of each rail. In a routed fabric every machine, or every group below one switch, has
// its own subnets: without a norm nothing is reported. A subnet that belongs to different rails on different machines
// means that cables or attachments are crossed.
func subnets(members []Member) []check.Finding {
	var rails []railSubnets
	for _, key := range railKeys(members) {
		d := divide(members, func(m Member) string { return m.subnet(key) })
		rails = append(rails, railSubnets{key, d})
	}
	if f, crossed := crossing(members, rails); crossed {
		return []check.Finding{f}
	}
	var findings []check.Finding
	for _, r := range rails {
		if len(r.groups) < 2 || !r.hasNorm() {
			continue
		}
		fix := *subnetFix
		f := r.finding(check.Finding{Check: RailSubnet, Status: check.Warn, Fix: &fix}, comparison{
			noun:   "subnet of rail " + r.rail,
			source: "addresses of rail " + r.rail,
			cost:   "without a route between the subnets these ranks cannot reach each other on that rail",
		})
		f.About = append(f.About, linksOf(members, r.rail, f.About)...)
		findings = append(findings, f)
	}
	return findings
}

var subnetFix = check.ByAdmin("Give each rail one subnet on all nodes, or route between its subnets.",
	"kubectl get sriovnetworks -A -o custom-columns=NAME:.metadata.name,IPAM:.spec.ipam")

// crossing finds a subnet that belongs to different rails on different machines. Several rails of one machine in one
// subnet are reported by check rail-arp instead.
func crossing(members []Member, rails []railSubnets) (check.Finding, bool) {
	first := map[string]railUse{}
	for _, r := range rails {
		for _, g := range r.groups {
			use := railUse{r.rail, g}
			other, known := first[g.value]
			switch {
			case !known:
				first[g.value] = use
			case !use.meets(other) && (use.has(members, other.rail) || other.has(members, use.rail)):
				return crossed(members, other, use), true
			}
		}
	}
	return check.Finding{}, false
}

// railUse is a rail on machines that have it in one subnet.
type railUse struct {
	rail string
	group
}

// meets reports whether a machine has both rails in the subnet: then the subnet does not belong to a single rail.
func (u railUse) meets(other railUse) bool {
	return slices.ContainsFunc(u.refs, func(r check.Ref) bool { return slices.Contains(other.refs, r) })
}

// has reports whether a machine of the group has another rail, too. Machines of different kinds may name their
// interfaces differently: then no rail took the place of another one.
func (u railUse) has(members []Member, rail string) bool {
	return slices.ContainsFunc(members, func(m Member) bool {
		return m.subnet(rail) != "" && slices.Contains(u.refs, m.Ref)
	})
}

func crossed(members []Member, a, b railUse) check.Finding {
	about := append([]check.Ref{a.refs[0]}, b.refs...)
	about = append(about, linksOf(members, a.rail, a.refs[:1])...)
	about = append(about, linksOf(members, b.rail, b.refs)...)
	others := words.Few(b.names, 6)
	return check.Finding{
		Check: RailSubnet, Status: check.Fail, Subject: check.Named(check.Subnet, b.rail), About: about,
		Summary: fmt.Sprintf("the rails are crossed: subnet %s is that of rail %s on %s and of rail %s on %s",
			b.value, a.rail, a.names[0], b.rail, others),
		Evidence: []check.Evidence{
			{Source: "addresses of rail " + a.rail + " on " + a.names[0], Got: b.value},
			{
				Source: "addresses of rail " + b.rail + " on " + others,
				Got:    b.value,
				Want:   "the subnet of rail " + b.rail + " on the others",
			},
		},
		Fix: check.ByAdmin("Let each attachment name the resource of the same rail on all nodes. If it does, check "+
			"the cabling.",
			subnetFix.Commands...),
	}
}

// linksOf returns the interfaces of a rail on some of the machines.
func linksOf(members []Member, key string, machines []check.Ref) []check.Ref {
	wanted := map[check.Ref]bool{}
	for _, m := range machines {
		wanted[m] = true
	}
	var links []check.Ref
	for _, m := range members {
		for _, r := range m.rails {
			if wanted[m.Ref] && r.netdev != "" && r.key == key {
				links = append(links, check.LinkRef(r.netdev).On(m.Ref))
			}
		}
	}
	return links
}

// railKeys returns the sorted keys of the rails that any machine has; a rail without an interface has no usable key.
func railKeys(members []Member) []string {
	keys := map[string]bool{}
	for _, m := range members {
		for _, r := range m.rails {
			if r.netdev != "" {
				keys[r.key] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(keys))
}

// subnet returns the subnet of a rail, or "" if it is unknown.
func (m Member) subnet(key string) string {
	for _, r := range m.rails {
		if r.key == key && r.subnet != "" {
			return r.subnet
		}
	}
	return ""
}
