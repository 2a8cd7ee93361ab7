package setup

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/rules/clusterrules"
	"github.com/railhead/railhead/internal/words"
)

// sriovDone is done when every node has the virtual functions of every policy and offers its resource. The operator's
// syncStatus alone is not enough: it is the old one until the operator has seen the policy.
func sriovDone(nodes []string, policies []policy) plan.Condition {
	return sriovSynced(nodes, "offer the new resources", func(n cluster.Node, state cluster.SriovNode) string {
		for _, p := range policies {
			if !slices.Contains(p.selected(), n.Name) {
				continue
			}
			if why := p.missing(state); why != "" {
				return why
			}
			if resource := resourceName(p.name); !offers(n, resource) {
				return "does not offer " + resource + " yet"
			}
		}
		return ""
	})
}

// missing says what the NIC of a node lacks; "" if it is as the policy wants it. The operator never lowers an MTU.
func (p policy) missing(state cluster.SriovNode) string {
	at := slices.IndexFunc(state.Interfaces, func(i cluster.SriovInterface) bool { return i.Name == p.name })
	if at < 0 {
		return "the operator does not see " + p.name
	}
	switch i := state.Interfaces[at]; {
	case i.VFs != p.vfs:
		return fmt.Sprintf("%s has %s, not %d yet", p.name, words.Count(i.VFs, "virtual function"), p.vfs)
	case i.MTU < p.mtu && !p.infiniBand():
		return fmt.Sprintf("%s has an MTU of %d, not %d yet", p.name, i.MTU, p.mtu)
	}
	return ""
}

// sriovGone is done when no node offers the resources of deleted policies, and the operator is done with the nodes: it
// drains them and pauses their pools meanwhile.
func sriovGone(nodes []string, gone map[string][]string) plan.Condition {
	return sriovSynced(nodes, "no longer offer the old resources", func(n cluster.Node, _ cluster.SriovNode) string {
		for _, resource := range gone[n.Name] {
			if offers(n, resource) {
				return "still offers " + resource
			}
		}
		return ""
	})
}

// sriovSynced is done when the operator is done with the nodes and nothing is missing on any.
func sriovSynced(nodes []string, as string, missing func(cluster.Node, cluster.SriovNode) string) plan.Condition {
	return func(s cluster.State) plan.Progress {
		if p := s.Problem(cluster.Nodes); p != nil {
			return plan.Progress{Text: "nodes could not be read: " + p.Err}
		}
		var progress plan.Progress
		bar := plan.Bar{Name: "sriov", Total: len(nodes)}
		for _, name := range nodes {
			item := plan.Item{Name: name, State: plan.Waiting}
			var state cluster.SriovNode
			at := slices.IndexFunc(s.SriovNodes, func(n cluster.SriovNode) bool { return n.Node == name })
			if at >= 0 {
				state = s.SriovNodes[at]
				item.State, item.Note = cmp.Or(state.SyncStatus, plan.Waiting), state.SyncError
			}
			if state.SyncStatus == "Failed" {
				progress.AddObstacle(sriovFailed(s, state))
			}
			node, _ := s.Node(name)
			why := missing(node, state)
			item.Note = cmp.Or(item.Note, why)
			if item.Done = why == "" && item.State == "Succeeded"; item.Done {
				bar.Count++
			}
			progress.Items = append(progress.Items, item)
		}
		progress.Bars = []plan.Bar{bar}
		if progress.Done = bar.Count == bar.Total; progress.Done {
			progress.Stuck = nil
		}
		progress.Text = fmt.Sprintf("%d of %s %s", bar.Count, words.Count(bar.Total, "node"), as)
		return progress
	}
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

// sriovFailed reports a failure of the operator on a node. Its daemon tries again, and the status is the old one until
// it begins (sriov-network-operator pkg/daemon/daemon.go Reconcile).
func sriovFailed(s cluster.State, n cluster.SriovNode) check.Obstacle {
	return check.Obstacle{Patience: clusterrules.DaemonPatience, Finding: check.Finding{
		Check: clusterrules.SriovNodeState, Status: check.Fail, Subject: check.NodeRef(n.Node),
		Summary: fmt.Sprintf("the SR-IOV operator could not set up node %s: %s",
			n.Node, cmp.Or(n.SyncError, "it gives no reason")),
		Evidence: check.Observed("SriovNetworkNodeState/"+n.Node+" status.syncStatus", n.SyncStatus, "Succeeded"),
		Fix: check.ByAdmin("Read the log of the operator's daemon on the node, or undo the policies.",
			"oc -n "+s.SriovNamespace()+" get pods --field-selector spec.nodeName="+n.Node,
			"railhead setup rollback"),
	}}
}

// nodesWith returns the nodes that have a NIC of a policy.
func nodesWith(s cluster.State, p cluster.SriovPolicy) []string {
	var names []string
	for _, state := range s.SriovNodes {
		n, ok := s.Node(state.Node)
		if ok && p.SelectsNode(n) && slices.ContainsFunc(state.Interfaces, p.Selects) {
			names = append(names, n.Name)
		}
	}
	return names
}
