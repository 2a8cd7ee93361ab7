package fleet

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/words"
)

// owner is an interface of a rail that has an address.
type owner struct {
	machine, link    check.Ref
	place, node, mac string
}

func (o owner) String() string { return o.place + " " + o.link.Part }

// duplicates finds addresses that several machines have, usually because IPAM counts on each node separately. The
// addresses that the same machines share are one finding.
func duplicates(members []Member) []check.Finding {
	owners := map[netip.Addr][]owner{}
	var shared []netip.Addr
	for _, m := range members {
		for _, r := range m.rails {
			o := owner{m.Ref, check.LinkRef(r.netdev).On(m.Ref), m.place(), m.Node, r.mac}
			for _, a := range r.addresses {
				if len(owners[a]) > 0 && owners[a][0].same(o) {
					continue
				}
				if owners[a] = append(owners[a], o); len(owners[a]) == 2 {
					shared = append(shared, a)
				}
			}
		}
	}
	var findings []check.Finding
	machines := func(a netip.Addr) string {
		var names []string
		for _, o := range owners[a] {
			names = append(names, o.machine.String())
		}
		return strings.Join(names, " ")
	}
	for _, addresses := range grouped(shared, machines) {
		findings = append(findings, duplicate(addresses, owners))
	}
	return findings
}

// same reports whether two interfaces are one: pods on the node's own network see the interfaces of the node.
func (o owner) same(other owner) bool {
	return o.mac != "" && o.mac == other.mac && o.node == other.node || o.machine == other.machine
}

func duplicate(addresses []netip.Addr, owners map[netip.Addr][]owner) check.Finding {
	const shown = 8
	var about []check.Ref
	var evidence []check.Evidence
	holders := func(a netip.Addr) string {
		var names []string
		for _, o := range owners[a] {
			names = append(names, o.String())
		}
		return words.Few(names, 6)
	}
	for i, a := range addresses {
		for _, o := range owners[a] {
			about = append(about, o.machine, o.link)
		}
		if i < shown {
			evidence = append(evidence, check.Evidence{
				Source: "addresses of the rails",
				Got:    a.String() + " of " + holders(a),
				Want:   "one owner",
			})
		}
	}
	first := addresses[0]
	summary := fmt.Sprintf("%s is the address of %s: data for one arrives at the other", first, holders(first))
	if more := len(addresses) - 1; more > 0 {
		summary += fmt.Sprintf("; they share %d more", more)
	}
	return check.Finding{
		Check: DuplicateAddress, Status: check.Fail, Subject: check.Named(check.Address, first.String()),
		About: about, Summary: summary, Evidence: evidence,
		Fix: check.ByAdmin("Use one address management for all nodes (whereabouts): host-local "+
			"counts on each node separately.",
			"kubectl get network-attachment-definitions -A -o jsonpath="+
				`'{range .items[*]}{.metadata.namespace}/{.metadata.name} {.spec.config}{"\n"}{end}'`),
	}
}
