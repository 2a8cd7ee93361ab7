package clusterrules

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/rail"
)

// sriovLinks finds cards for RDMA without a link. Only cards that a policy selects, or that have virtual functions,
// count: ports that nothing uses are often not connected.
func sriovLinks(v view) []check.Finding {
	var findings []check.Finding
	for _, n := range v.state.SriovNodes {
		node, _ := v.state.Node(n.Node)
		for _, i := range n.Interfaces {
			_, selected := v.policyOf(node, i)
			if used := selected || i.VFs > 0 || i.Wanted > 0; used && i.HasRDMA() && i.Down() {
				findings = append(findings, v.withoutLink(n, i))
			}
		}
	}
	return findings
}

func (v view) withoutLink(n cluster.SriovNode, i cluster.SriovInterface) check.Finding {
	state := "sriovnetworknodestate/" + n.Node + " interface " + i.Name
	var got []string
	if i.LinkState != "" {
		got = append(got, "linkAdminState "+i.LinkState)
	}
	if i.LinkSpeed != "" {
		got = append(got, "linkSpeed "+i.LinkSpeed)
	}
	f := check.Finding{
		Check: rail.PortActive, Status: check.Warn, Subject: check.NodeRef(n.Node),
		Summary: fmt.Sprintf("%s (%s) of node %s has no link: its virtual functions are no rails until it has one",
			i.Name, i.PCI, n.Node),
		Evidence: check.Observed(state, strings.Join(got, ", "), "up, with a speed"),
		Fix: check.ByAdmin("Check the cable, the transceiver and the port of the switch. If the interface is down, "+
			"bring it up.",
			fmt.Sprintf("kubectl -n %s get sriovnetworknodestate %s -o yaml",
				cmp.Or(n.Namespace, v.state.SriovNamespace()), n.Node)),
	}
	for _, p := range v.state.SriovPolicies {
		if !p.Selects(i) {
			continue
		}
		for _, name := range v.state.ResourceNames(p.ResourceName) {
			f.About = append(f.About, check.Named(check.Resource, name))
		}
	}
	return f
}
