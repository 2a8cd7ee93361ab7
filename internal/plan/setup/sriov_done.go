package setup

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	clusterrules "github.com/railhead/railhead/internal/rules/cluster"
	"github.com/railhead/railhead/internal/words"
)

// sriovDone is done when every node offers the resource of every policy. The operator's syncStatus alone says nothing:
// until the operator has seen the policy it is the old one.
func sriovDone(policies []policy) plan.Condition {
	return sriovSynced(policyNodes(policies), "offer the new resources", func(n cluster.Node) string {
		if short := lacksResource(n, policies); short != "" {
			return "does not offer " + short + " yet"
		}
		return ""
	})
}

// sriovGone is done when no node offers the resources of policies that are deleted, and the operator has done all that
// follows: it drains the nodes, and pauses their pools meanwhile. A resource that a policy which stays makes on the
// node stays.
func sriovGone(nodes []string, gone map[string][]string) plan.Condition {
	return sriovSynced(nodes, "are without what the policies made", func(n cluster.Node) string {
		for _, resource := range gone[n.Name] {
			if offers(n, resource) {
				return "still offers " + resource
			}
		}
		return ""
	})
}

// sriovSynced is done when the operator is done with the nodes and nothing is missing on any.
func sriovSynced(nodes []string, as string, missing func(cluster.Node) string) plan.Condition {
	return func(s cluster.State) plan.Progress {
		var progress plan.Progress
		for _, name := range nodes {
			item := plan.Item{Name: name, State: plan.Waiting}
			if i := slices.IndexFunc(s.SriovNodes, func(n cluster.SriovNode) bool { return n.Node == name }); i >= 0 {
				state := s.SriovNodes[i]
				item.State, item.Note = cmp.Or(state.SyncStatus, plan.Waiting), state.SyncError
				if state.SyncStatus == "Failed" {
					progress.AddObstacle(sriovFailed(state))
				}
			}
			node, _ := s.Node(name)
			not := missing(node)
			item.Done = not == "" && item.State == "Succeeded"
			item.Note = cmp.Or(item.Note, not)
			progress.Items = append(progress.Items, item)
		}
		bar := plan.Bar{Name: "sriov", Total: len(progress.Items)}
		for _, item := range progress.Items {
			if item.Done {
				bar.Count++
			}
		}
		progress.Bars = []plan.Bar{bar}
		if progress.Done = bar.Count == bar.Total; progress.Done {
			progress.Stuck = nil
		}
		progress.Text = fmt.Sprintf("%d of %s %s", bar.Count, words.Count(bar.Total, "node"), as)
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
		if !offers(n, resourceName(p.Name)) {
			return resourceName(p.Name)
		}
	}
	return ""
}

// offers reports whether a node offers a resource, whatever its prefix.
func offers(n cluster.Node, name string) bool {
	for resource, count := range n.Allocatable {
		if count > 0 && strings.HasSuffix(resource, "/"+name) {
			return true
		}
	}
	return false
}

// sriovFailed: the operator's daemon tries again, and a failure from before stays until it begins
// (sriov-network-operator pkg/daemon/daemon.go Reconcile).
func sriovFailed(n cluster.SriovNode) check.Obstacle {
	return check.Obstacle{Patience: clusterrules.DaemonPatience, Finding: check.Finding{
		Check: clusterrules.SriovNodeState, Status: check.Fail, Subject: check.NodeRef(n.Node),
		Summary: fmt.Sprintf(
			"the SR-IOV operator could not set up node %s: %s", n.Node, cmp.Or(n.SyncError, "it does not say why"),
		),
		Evidence: []check.Evidence{
			{Source: "SriovNetworkNodeState/" + n.Node + " status.syncStatus", Got: n.SyncStatus, Want: "Succeeded"},
		},
		Fix: &check.Fix{
			Text: "See what its daemon on the node says. The policies can be taken back.",
			Commands: []string{
				"oc -n " + cmp.Or(
					n.Namespace, "openshift-sriov-network-operator",
				) + " get pods --field-selector spec.nodeName=" + n.Node,
				"railhead setup rollback",
			},
			Who: check.Admin,
		},
	}}
}

// nodesWith are the nodes that have a NIC of a policy.
func nodesWith(s cluster.State, p cluster.SriovPolicy) []string {
	var names []string
	for _, state := range s.SriovNodes {
		n, ok := s.Node(state.Node)
		if ok && cluster.Selects(p.NodeSelector, nil, n.Labels) && slices.ContainsFunc(state.Interfaces, p.Selects) {
			names = append(names, n.Name)
		}
	}
	return names
}
