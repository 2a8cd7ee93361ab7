package setup

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/words"
)

func noOperator() check.Finding {
	return plan.Failure(SRIOVOperator, check.Ref{Kind: check.Cluster},
		"the SR-IOV network operator is not installed, so policies would have no effect",
		check.Observed("API groups", "no "+cluster.SriovGroup, cluster.SriovGroup),
		check.ByAdmin("Install the operator, or omit --sriov.",
			"oc get packagemanifests sriov-network-operator"))
}

func tooManyVFs(n nic, requested int) check.Finding {
	limit := n.maxVFs()
	return plan.Failure(SRIOVNICs, check.Named(check.NIC, n.name),
		fmt.Sprintf("NIC %s supports %s, and %d are requested",
			n.name, words.Count(limit, "virtual function"), requested),
		check.Observed("SriovNetworkNodeState "+n.name+" totalvfs", strconv.Itoa(limit),
			strconv.Itoa(requested)),
		check.ByAdmin("Request fewer.", fmt.Sprintf("railhead setup cluster --sriov --vfs %d", limit)))
}

func noSelector(n nic) check.Finding {
	selected := n.selected()
	return check.Finding{
		Check: SRIOVNICs, Status: check.Warn, Subject: check.Named(check.NIC, n.name),
		Summary: fmt.Sprintf("NIC %s gets no policy: no label separates %s, where it needs one, from %s, "+
			"where it must be left alone", n.name, words.And(selected), words.And(n.others)),
		Evidence: []check.Evidence{
			{Source: "nodes on which it needs a policy", Got: strings.Join(selected, ", ")},
			{Source: "nodes on which it has one, or carries other traffic", Got: strings.Join(n.others, ", ")},
		},
		Fix: check.ByAdmin("Label the nodes that need the policy, and write it with that label as nodeSelector.",
			"oc label node "+strings.Join(selected, " ")+" example.com/rdma-nic="+n.name),
	}
}

// missingNICs reports requested NICs that no node has, or that there are none at all.
func missingNICs(s cluster.State, o Options, nics []nic) []check.Finding {
	var existing []string
	for _, state := range s.SriovNodes {
		for _, i := range state.Interfaces {
			if i.IsRDMANIC() {
				existing = append(existing, i.Name)
			}
		}
	}
	slices.Sort(existing)
	existing = slices.Compact(existing)
	const command = "oc get sriovnetworknodestates -A -o yaml"
	var findings []check.Finding
	for _, pf := range o.PFs {
		if slices.ContainsFunc(nics, func(n nic) bool { return n.name == pf }) {
			continue
		}
		findings = append(findings, plan.Failure(SRIOVNICs, check.Named(check.NIC, pf),
			fmt.Sprintf("no node has an RDMA NIC %s: there are %s", pf, cmp.Or(words.And(existing), "none")),
			check.Observed("sriovnetworknodestates status.interfaces", plan.OrNone(existing), pf),
			check.ByAdmin("Name an existing NIC.", command)))
	}
	if len(existing) == 0 && len(o.PFs) == 0 {
		findings = append(findings, check.Finding{
			Check: SRIOVNICs, Status: check.Warn, Subject: check.Ref{Kind: check.Cluster},
			Summary: fmt.Sprintf("the SR-IOV operator sees no RDMA NIC on %s", words.Count(len(s.SriovNodes), "node")),
			Evidence: check.Observed("sriovnetworknodestates status.interfaces vendor",
				"none of "+strings.Join(cluster.RDMAVendors(), ", "), ""),
			Fix: check.ByAdmin("Check on which nodes the operator's daemon runs, and which NICs they have.", command),
		})
	}
	return findings
}

// unknownGateways reports nodes whose default network one of the NICs may carry.
func unknownGateways(s cluster.State, nodes []string, policies []policy) []check.Finding {
	var unknown []string
	for _, name := range nodes {
		if n, ok := s.Node(name); ok && n.GatewayMAC == "" {
			unknown = append(unknown, name)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	var pfs []string
	for _, p := range policies {
		pfs = append(pfs, p.name)
	}
	return []check.Finding{{
		Check: SRIOVNICs, Status: check.Unknown, Subject: check.Ref{Kind: check.Nodes},
		Summary: fmt.Sprintf("the NIC that carries the default network of %s is unknown: "+
			"make sure that it is none of %s", words.Count(len(unknown), "node"), words.And(pfs)),
		Evidence: check.Observed("annotation k8s.ovn.org/l3-gateway-config of "+strings.Join(unknown, ", "), "none",
			""),
		Fix: check.ByAdmin("Name the NICs to use.", "railhead setup cluster --sriov --pf "+strings.Join(pfs, ",")),
	}}
}

// nicFinding says why a NIC of a node gets no policy.
func nicFinding(
	node string, i cluster.SriovInterface, status check.Status, why string, e []check.Evidence,
) check.Finding {
	return check.Finding{
		Check: SRIOVNICs, Status: status, Subject: check.NodeRef(node),
		Summary:  fmt.Sprintf("NIC %s (%s) of node %s gets no policy: %s", i.Name, i.PCI, node, why),
		Evidence: e,
	}
}
