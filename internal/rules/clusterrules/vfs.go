package clusterrules

import (
	"fmt"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/rules/machine"
)

// vfCount compares the virtual functions of a card with those that the operator wants, by the spec of the node's state
// or by the policies, once it says that it is done. Other checks report nodes where it still works or has failed.
func vfCount(v view) []check.Finding {
	var findings []check.Finding
	for _, n := range v.state.SriovNodes {
		node, known := v.state.Node(n.Node)
		if !known || n.SyncStatus != "Succeeded" {
			continue
		}
		for _, i := range n.Interfaces {
			p, found := v.policyOf(node, i)
			switch {
			case i.VFs < i.Wanted:
				p.VFs = i.Wanted
				findings = append(findings, v.tooFewVFs(n, i, p))
			case i.Wanted == 0 && found && i.VFs < p.VFs:
				findings = append(findings, v.tooFewVFs(n, i, p))
			}
		}
	}
	return findings
}

// policyOf returns the policy in force with the highest priority for a card, with the virtual functions that the card
// gets by all of them.
func (v view) policyOf(n cluster.Node, i cluster.SriovInterface) (p cluster.SriovPolicy, found bool) {
	config := cluster.SriovConfigOf(v.state.SriovPolicies, n, i)
	if len(config.Policies) == 0 {
		return p, false
	}
	p = config.Policies[0]
	p.VFs = config.VFs
	return p, true
}

func (v view) tooFewVFs(n cluster.SriovNode, i cluster.SriovInterface, p cluster.SriovPolicy) check.Finding {
	state := "SriovNetworkNodeState " + n.Node + " interface " + i.Name
	pods := "kubectl -n %s get pods -o wide --field-selector spec.nodeName=%s"
	who := "the spec of its SriovNetworkNodeState"
	if p.Name != "" {
		who = "policy " + p.Name
	}
	f := check.Finding{
		Check: machine.VFCount, Status: check.Warn, Subject: check.NodeRef(n.Node),
		Summary: fmt.Sprintf("%s has %d virtual functions, but %s requests %d: fewer pods get a rail there",
			i.Name, i.VFs, who, p.VFs),
		Evidence: []check.Evidence{
			{Source: state + " numVfs", Got: fmt.Sprint(i.VFs), Want: fmt.Sprint(p.VFs)},
			{Source: state + " totalvfs", Got: fmt.Sprint(i.TotalVFs), Want: fmt.Sprintf("%d or more", p.VFs)},
		},
		Fix: check.ByAdmin("Read the log of the operator's daemon on the node. It creates them again after a "+
			"change of the policy.",
			fmt.Sprintf(pods, v.state.SriovNamespace(), n.Node)),
	}
	if i.TotalVFs < p.VFs {
		f.Summary += fmt.Sprintf("; its firmware allows %d", i.TotalVFs)
		f.Fix.Text = "Raise the limit of the firmware (NVIDIA: mlxconfig, then a cold reset of the card), or request " +
			"fewer in the policy."
		f.Fix.Commands = []string{fmt.Sprintf("mlxconfig -d %s set SRIOV_EN=1 NUM_OF_VFS=%d", i.PCI, p.VFs)}
	}
	return f
}
