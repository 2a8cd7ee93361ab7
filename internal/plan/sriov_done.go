package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
)

// sriovDone is done when every node offers the resource of every policy. The operator's syncStatus alone says nothing: until the
// operator has seen the policy it is the old one.
func sriovDone(policies []policy) Condition {
	return func(s cluster.State) Progress {
		var progress Progress
		for _, name := range policyNodes(policies) {
			item := Item{Name: name, State: Waiting}
			if i := slices.IndexFunc(s.SriovNodes, func(n cluster.SriovNode) bool { return n.Node == name }); i >= 0 {
				state := s.SriovNodes[i]
				item.State, item.Note = orDefault(state.SyncStatus, Waiting), state.SyncError
				if state.SyncStatus == "Failed" && progress.Stuck == nil {
					progress.Stuck = sriovFailed(state)
				}
			}
			node, _ := s.Node(name)
			short := lacksResource(node, policies)
			item.Done = short == "" && item.State == "Succeeded"
			if short != "" {
				item.Note = orDefault(item.Note, "does not offer "+short+" yet")
			}
			progress.Items = append(progress.Items, item)
		}
		bar := Bar{Name: "sriov", Total: len(progress.Items)}
		for _, item := range progress.Items {
			if item.Done {
				bar.Count++
			}
		}
		progress.Bars = []Bar{bar}
		progress.Done = bar.Count == bar.Total
		progress.Text = fmt.Sprintf("%d of %s offer the new resources", bar.Count, counted(bar.Total, "node"))
		return progress
	}
}

func policyNodes(policies []policy) []string {
	var names []string
	for _, p := range policies {
		names = append(names, p.Nodes...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// lacksResource returns the first resource of the policies of a node that it does not offer.
func lacksResource(n cluster.Node, policies []policy) string {
	for _, p := range policies {
		if !slices.Contains(p.Nodes, n.Name) {
			continue
		}
		offered := false
		for resource, count := range n.Allocatable {
			offered = offered || (count > 0 && strings.HasSuffix(resource, "/"+resourceName(p.Name)))
		}
		if !offered {
			return resourceName(p.Name)
		}
	}
	return ""
}

func sriovFailed(n cluster.SriovNode) *check.Finding {
	return &check.Finding{
		Check: cluster.SriovNodeState, Status: check.Fail, Subject: check.Subject("node/" + n.Node),
		Summary:  fmt.Sprintf("the SR-IOV operator could not set up node %s: %s", n.Node, orDefault(n.SyncError, "it does not say why")),
		Evidence: []check.Evidence{{Source: "SriovNetworkNodeState/" + n.Node + " status.syncStatus", Got: n.SyncStatus, Want: "Succeeded"}},
		Fix: &check.Fix{
			Text:     "See what its daemon on the node says. The policies can be taken back.",
			Commands: []string{"oc -n " + orDefault(n.Namespace, "openshift-sriov-network-operator") + " get pods --field-selector spec.nodeName=" + n.Node, "railhead setup rollback"},
			Who:      check.Admin,
		},
	}
}

// nodesWith are the nodes that have a NIC of a policy.
func nodesWith(s cluster.State, p cluster.SriovPolicy) []string {
	var names []string
	for _, state := range s.SriovNodes {
		n, ok := s.Node(state.Node)
		if ok && selects(p.NodeSelector, nil, n.Labels) && slices.ContainsFunc(state.Interfaces, func(i cluster.SriovInterface) bool { return selectsNIC(p, i) }) {
			names = append(names, n.Name)
		}
	}
	return names
}
