package setup

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/rules/clusterrules"
	"github.com/railhead/railhead/internal/words"
)

// Rollback returns the plan that removes exactly the objects of `setup cluster`, in one rollout. Pools that an
// interrupted run left paused are resumed. If a finding is Fail, nothing may be written and the plan is empty.
func Rollback(s cluster.State) (plan.Plan, []check.Finding) {
	kinds := []cluster.Kind{cluster.Objects}
	if s.Server.Serves(cluster.MachineConfigGroup) {
		kinds = append(kinds, cluster.Nodes, cluster.Pools, cluster.MachineConfigs)
	}
	if len(created(s, "SriovNetworkNodePolicy")) > 0 {
		kinds = append(kinds, cluster.Nodes, cluster.SriovPolicies, cluster.SriovNodes)
	}
	if unreadable := plan.Unreadable(s, kinds...); len(unreadable) > 0 {
		return plan.Plan{}, unreadable
	}
	// The SR-IOV operator pauses a pool while it drains a node, so its policies go after the rollout.
	return join(plan.UndoTitle("cluster"), undoNodes(s), undoPools(s), undoSriov(s), undoSCC(s))
}

// created returns the objects of a kind that setup created.
func created(s cluster.State, kind string) []cluster.Object {
	return slices.DeleteFunc(slices.Clone(s.Objects), func(o cluster.Object) bool {
		labels := (&unstructured.Unstructured{Object: o.Fields}).GetLabels()
		return o.Kind != kind || !createdBySetup(labels)
	})
}

func deletions(objects []cluster.Object) []plan.Change {
	var changes []plan.Change
	for _, o := range objects {
		changes = append(changes, plan.Deletion(o, "created by setup cluster"))
	}
	return changes
}

// undoNodes deletes the MachineConfigs while the pools that have them are paused.
func undoNodes(s cluster.State) part {
	var p part
	changes := deletions(created(s, "MachineConfig"))
	deleted := "Delete " + words.Count(len(changes), "MachineConfig")
	held := heldForUndo(s, changes)
	if len(held) > 0 {
		p.steps = held.steps(deleted, changes)
	} else {
		if len(changes) > 0 {
			p.steps = []plan.Step{{ID: "machine-configs", Title: deleted + " that no pool selects", Changes: changes}}
		}
		for _, pool := range s.Pools {
			p.noteRolling(pool, s.NodesOf(pool.Name))
		}
	}
	for _, h := range held {
		fix := check.ByAdmin("If the pool is still degraded after the rollback, the cause is something else.",
			"oc describe machineconfigpool "+h.Name)
		p.Report(unfinished(s, h, fix)...)
		p.noteReboots(h)
	}
	return p
}

// heldForUndo returns the pools that select the deleted MachineConfigs, and those that setup left paused.
func heldForUndo(s cluster.State, deleted []plan.Change) heldPools {
	var held heldPools
	for _, p := range poolsByName(s) {
		h := heldPool{Pool: p, Rollout: clusterrules.Rollout{Pool: p.Name}, Nodes: s.NodesOf(p.Name)}
		var rest []string
		for _, m := range plan.SelectedConfigs(p, s.MachineConfigs) {
			if slices.ContainsFunc(deleted, func(c plan.Change) bool { return c.Object.GetName() == m.Name }) {
				h.Without = append(h.Without, m.Name)
			} else {
				rest = append(rest, m.Name)
			}
		}
		h.Restored = slices.Equal(slices.Sorted(slices.Values(rest)), slices.Sorted(slices.Values(p.CurrentSources)))
		if h.Written = len(h.Without) > 0; !h.Written {
			h.From = p.Annotations[cluster.AnnotationFrom]
		}
		if h.Written || p.InSetup() {
			held = append(held, h)
		}
	}
	return held
}

// undoSriov deletes the policies and waits until their devices are gone.
func undoSriov(s cluster.State) part {
	policies := created(s, "SriovNetworkNodePolicy")
	if len(policies) == 0 {
		return part{}
	}
	var nodes []string
	gone, kept := map[string][]string{}, map[string][]string{} // resources by node
	for _, p := range s.SriovPolicies {
		ours := slices.ContainsFunc(policies, func(o cluster.Object) bool {
			return o.Namespace == p.Namespace && o.Name == p.Name
		})
		for _, node := range nodesWith(s, p) {
			if !ours {
				kept[node] = append(kept[node], p.ResourceName)
				continue
			}
			nodes = append(nodes, node)
			gone[node] = append(gone[node], p.ResourceName)
		}
	}
	for node, resources := range gone {
		gone[node] = slices.DeleteFunc(resources, func(r string) bool { return slices.Contains(kept[node], r) })
	}
	slices.Sort(nodes)
	nodes = slices.Compact(nodes)
	return part{steps: []plan.Step{sriovStep(s, "Delete", deletions(policies), nodes, sriovGone(nodes, gone))}}
}

// undoSCC deletes the SCC and its role, last: the pods that use it keep running until then.
func undoSCC(s cluster.State) part {
	var p part
	sccs := created(s, "SecurityContextConstraints")
	objects := slices.Concat(sccs, created(s, "ClusterRole"))
	if len(objects) == 0 {
		return p
	}
	for _, o := range sccs {
		switch users := usersOf(s, o.Name); {
		case len(users) > 0:
			p.Report(sccInUse(o.Name, users))
		case !s.Knows(cluster.SCCGrants):
			p.Unknown(s, SCCUnused, cluster.SCCGrants, "whether pods may still use SCC "+o.Name+" could not be read")
		}
	}
	p.steps = []plan.Step{{
		ID:      "scc",
		Title:   "Delete the security context constraint " + plan.SCCName,
		Changes: deletions(objects),
	}}
	return p
}

// sccInUse warns of the namespaces whose pods an SCC admitted.
func sccInUse(scc string, users []cluster.SCCGrant) check.Finding {
	f := check.Finding{
		Check: SCCUnused, Status: check.Warn, Subject: check.Named(check.SCC, scc),
		Fix: check.ByAdmin("Running pods are not affected. New pods of these users are admitted by another SCC " +
			"or refused: delete the jobs and the bindings first if that matters."),
	}
	const everywhere = "every namespace"
	var places []string
	for _, u := range users {
		place := cmp.Or(u.Namespace, everywhere)
		places = append(places, place)
		f.Evidence = append(f.Evidence, check.Observed(u.By+" in "+place, u.Subject+" may use it", "no subject")...)
	}
	slices.Sort(places)
	places = slices.Compact(places)
	f.Summary = fmt.Sprintf("SCC %s is still used in %s", scc, words.And(places))
	for _, place := range places {
		if place != everywhere {
			f.Fix.Commands = append(f.Fix.Commands, "oc -n "+place+" get rolebindings -o wide")
		}
	}
	return f
}
