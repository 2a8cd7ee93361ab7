package rules

import (
	"fmt"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/rules/machine"
)

// vfCount compares the virtual functions that a card has with those that its policies ask for, where the operator says that it
// is done. While it works, and where it failed, others tell.
func vfCount(c clusterCase) []check.Finding {
	var findings []check.Finding
	for _, n := range c.SriovNodes {
		node, there := c.Node(n.Node)
		if !there || n.SyncStatus != "Succeeded" {
			continue
		}
		for _, i := range n.Interfaces {
			if p, asks := c.least(node, i); asks && i.VFs < p.VFs {
				findings = append(findings, tooFew(n, i, p))
			}
		}
	}
	return findings
}

// least is, of the policies of a card, that which asks for the fewest virtual functions: of several one holds.
func (c clusterCase) least(n cluster.Node, i cluster.SriovInterface) (least cluster.SriovPolicy, found bool) {
	for _, p := range c.SriovPolicies {
		if p.VFs > 0 && selectsNode(p, n) && p.Selects(i) && (!found || p.VFs < least.VFs) {
			least, found = p, true
		}
	}
	return least, found
}

func selectsNode(p cluster.SriovPolicy, n cluster.Node) bool {
	for key, value := range p.NodeSelector {
		if got, there := n.Labels[key]; !there || got != value {
			return false
		}
	}
	return true
}

func tooFew(n cluster.SriovNode, i cluster.SriovInterface, p cluster.SriovPolicy) check.Finding {
	state := "SriovNetworkNodeState " + n.Node + " interface " + i.Name
	f := check.Finding{
		Check: machine.VFCount, Status: check.Warn, Subject: check.Subject("node/" + n.Node),
		Summary: fmt.Sprintf("%s has %d virtual functions, and policy %s asks for %d: fewer pods get a rail there", i.Name, i.VFs, p.Name, p.VFs),
		Evidence: []check.Evidence{
			{Source: state + " numVfs", Got: fmt.Sprint(i.VFs), Want: fmt.Sprint(p.VFs)}, {Source: state + " totalvfs", Got: fmt.Sprint(i.TotalVFs), Want: fmt.Sprintf("%d or more", p.VFs)},
		},
		Fix: &check.Fix{
			Text: "See what the operator's daemon on the node says; it makes them anew after a change of the policy.", Who: check.Admin,
			Commands: []string{"kubectl -n " + orElse(n.Namespace, "openshift-sriov-network-operator") + " get pods -o wide --field-selector spec.nodeName=" + n.Node},
		},
	}
	if i.TotalVFs < p.VFs {
		f.Summary += fmt.Sprintf("; its firmware allows %d", i.TotalVFs)
		f.Fix.Text = "Let the firmware allow as many (NVIDIA: mlxconfig, then a cold reset of the card), or ask for fewer in the policy."
		f.Fix.Commands = []string{fmt.Sprintf("mlxconfig -d %s set SRIOV_EN=1 NUM_OF_VFS=%d", i.PCI, p.VFs)}
	}
	return f
}
