package namespace

import (
	"fmt"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/plan/delivery"
	"github.com/railhead/railhead/internal/words"
	"github.com/railhead/railhead/internal/workload"
)

// UndoKinds returns the lists that Undo reads.
func UndoKinds() []cluster.Kind {
	return append(undoNeeds(), cluster.Networks, cluster.SriovNetworks, cluster.Namespaces)
}

// undoNeeds returns the lists without which nothing is deleted.
func undoNeeds() []cluster.Kind {
	return []cluster.Kind{cluster.Objects, cluster.NvidiaObjects, cluster.Pods}
}

// Undo returns the plan that deletes what `setup namespace` created for a namespace. If pods use it, nothing may be
// written and the plan is empty. The namespace itself stays, and so does what other namespaces may use.
func Undo(s cluster.State, namespace string) (plan.Plan, []check.Finding) {
	if unreadable := plan.Unreadable(s, undoNeeds()...); len(unreadable) > 0 {
		return plan.Plan{}, unreadable
	}
	var changes []plan.Change
	for _, component := range []string{ComponentNamespace, componentUsers, delivery.Component} {
		changes = append(changes, plan.DeleteComponent(s, component, "created by setup namespace",
			"SriovNetwork", "SriovIBNetwork", hostDeviceNetwork, "NetworkAttachmentDefinition",
			"RoleBinding", "Role", "ServiceAccount", "ConfigMap")...)
	}
	changes = slices.DeleteFunc(changes, func(c plan.Change) bool { return !isFor(s, c, namespace) })
	// pools first: an interrupted run finds the rest of them by the networks
	pools, notes := undoPools(s, namespace, changes)
	changes = append(pools, changes...)
	p := plan.Plan{Title: plan.UndoTitle("namespace " + namespace)}
	if len(changes) == 0 {
		return p, nil
	}
	if used := inUse(s, namespace, changes); len(used) > 0 {
		return plan.Plan{}, used
	}
	const title = "Delete the network attachments, rights and accounts of jobs"
	p.Steps = []plan.Step{{ID: "namespace", Title: title, Changes: changes}}
	stays := "Namespace " + namespace + " stays, and what other namespaces may use: device classes and the cluster " +
		"role of --users."
	p.Closing = "Deleted " + p.Deleted() + ". " + strings.Join(append([]string{stays}, notes...), " ")
	p.Notes = slices.Concat(notes, []string{
		stays,
		"Manifests of 'inject' that name the ConfigMaps of railhead-pod need 'railhead setup namespace' again.",
	})
	if n, _ := s.Namespace(namespace); workload.WebhookServes(n) {
		p.Notes = append(p.Notes, fmt.Sprintf("The label %s stays, because setup did not set it: a webhook injects "+
			"pods of namespaces that have it. To remove it: kubectl label namespace %s %s-",
			workload.WebhookLabel, namespace, workload.WebhookLabel))
	}
	return p, nil
}

// undoPools returns the changes that delete the pools of nv-ipam whose addresses only the deleted networks get, and a
// note for each other pool that they name.
func undoPools(s cluster.State, namespace string, deleted []plan.Change) (changes []plan.Change, notes []string) {
	for _, pool := range plan.DeleteComponent(s, ComponentNamespace, "created by setup namespace", "IPPool") {
		name := pool.Object.GetName()
		if !slices.ContainsFunc(deleted, func(c plan.Change) bool {
			live, _ := plan.LiveObject(s, c.Object)
			return namesPool(live.Fields["spec"], name)
		}) {
			continue
		}
		switch others := usersOf(s, name, namespace, deleted); {
		case !s.Knows(cluster.Networks) || !s.Knows(cluster.SriovNetworks):
			notes = append(notes, "IPPool "+name+" stays: whether other networks use it could not be read.")
		case len(others) > 0:
			notes = append(notes, "IPPool "+name+" stays: "+words.Few(others, 4)+" uses it.")
		default:
			changes = append(changes, pool)
		}
	}
	return changes, notes
}

// usersOf returns the networks with addresses of a pool that stay.
func usersOf(s cluster.State, pool, namespace string, deleted []plan.Change) []string {
	stays := func(name string) bool {
		return !slices.ContainsFunc(deleted, func(c plan.Change) bool { return c.Object.GetName() == name })
	}
	var users []string
	for _, n := range s.SriovNetworks {
		if namesPool(n.Spec, pool) && (n.TargetNamespace != namespace || stays(n.Name)) {
			users = append(users, n.Kind+" "+n.Name)
		}
	}
	for _, n := range s.Networks { // the operator deletes those that it made of the deleted networks
		if namesPool(n.Config, pool) && (n.Namespace != namespace || stays(n.Name)) {
			users = append(users, "attachment "+n.Namespace+"/"+n.Name)
		}
	}
	return users
}

// namesPool reports whether the configuration of a network, as JSON or decoded, has addresses of a pool of nv-ipam,
// which takes several names with commas between them.
func namesPool(config any, pool string) bool {
	return slices.ContainsFunc(fields(config, "poolName"), func(names string) bool {
		return slices.Contains(strings.Split(names, ","), pool)
	})
}

// isFor reports whether an object is in a namespace, or is a network of the SR-IOV operator for it.
func isFor(s cluster.State, c plan.Change, namespace string) bool {
	if c.Object.GetNamespace() == namespace {
		return true
	}
	live, _ := plan.LiveObject(s, c.Object)
	return workload.Field(live.Fields, "spec.networkNamespace") == namespace
}

// inUse refuses while there are jobs, or pods with an account or an attachment that would be deleted.
func inUse(s cluster.State, namespace string, changes []plan.Change) []check.Finding {
	var users []string
	for _, o := range s.Objects {
		if k, runs := workload.Of(o.Kind); runs && k.Deployed && o.Namespace == namespace {
			users = append(users, o.Kind+" "+o.Name)
		}
	}
	for _, p := range s.Pods {
		deleted := func(c plan.Change) bool {
			if c.Object.GetKind() == "ServiceAccount" {
				return p.Namespace == namespace && c.Object.GetName() == p.ServiceAccount
			}
			network := cluster.NetworkName{Namespace: namespace, Name: c.Object.GetName()}
			return slices.Contains(p.NetworkNames(), network)
		}
		injected := p.Namespace == namespace && p.Annotations[workload.Injected] != ""
		if !p.Finished() && (injected || slices.ContainsFunc(changes, deleted)) {
			users = append(users, "pod "+p.Namespace+"/"+p.Name)
		}
	}
	if len(users) == 0 {
		return nil
	}
	return []check.Finding{{
		Check: plan.NamespaceReady, Status: check.Fail, Subject: check.Named(check.Namespace, namespace),
		Summary:  "namespace " + namespace + " is in use by " + words.Few(users, 6),
		Evidence: check.Observed("jobs and pods of namespace "+namespace, words.Few(users, 6), "none"),
		Fix: check.ByUser("Delete them first.", "railhead delete JOB -n "+namespace,
			"kubectl -n "+namespace+" get pods"),
	}}
}
