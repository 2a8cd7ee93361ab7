package namespace

import (
	"slices"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/plan/delivery"
	"github.com/railhead/railhead/internal/words"
	"github.com/railhead/railhead/internal/workload"
)

// UndoKinds returns the lists that Undo needs.
func UndoKinds() []cluster.Kind { return []cluster.Kind{cluster.Objects, cluster.Pods} }

// Undo returns the plan that deletes what `setup namespace` created for a namespace. If a job uses it, nothing may be
// written and the plan is empty. The namespace itself stays, and so does what other namespaces may use.
func Undo(s cluster.State, namespace string) (plan.Plan, []check.Finding) {
	if unreadable := plan.Unreadable(s, UndoKinds()...); len(unreadable) > 0 {
		return plan.Plan{}, unreadable
	}
	var changes []plan.Change
	for _, component := range []string{ComponentNamespace, componentUsers, delivery.Component} {
		changes = append(changes, plan.DeleteComponent(s, component, "created by setup namespace",
			"SriovNetwork", "SriovIBNetwork", "NetworkAttachmentDefinition",
			"RoleBinding", "Role", "ServiceAccount", "ConfigMap")...)
	}
	changes = slices.DeleteFunc(changes, func(c plan.Change) bool { return !isFor(s, c, namespace) })
	p := plan.Plan{Title: "Undo 'railhead setup namespace " + namespace + "'"}
	if len(changes) == 0 {
		return p, nil
	}
	if used := inUse(s, namespace, changes); len(used) > 0 {
		return plan.Plan{}, used
	}
	const title = "Delete the network attachments, rights and accounts of jobs"
	p.Steps = []plan.Step{{ID: "namespace", Title: title, Changes: changes}}
	p.Notes = []string{
		"Namespace " + namespace + " stays, and what other namespaces may use: device classes, host-device networks, " +
			"and the cluster role of --users.",
		"Manifests of 'inject' that name the ConfigMaps of railhead-pod need 'railhead setup namespace' again.",
	}
	return p, nil
}

// isFor reports whether an object is in a namespace, or is a network of the SR-IOV operator for it.
func isFor(s cluster.State, c plan.Change, namespace string) bool {
	if c.Object.GetNamespace() == namespace {
		return true
	}
	live, _ := plan.LiveObject(s, c.Object)
	return workload.Field(live.Fields, "spec.networkNamespace") == namespace
}

// inUse refuses while there are jobs, or pods with an account that would be deleted.
func inUse(s cluster.State, namespace string, changes []plan.Change) []check.Finding {
	var users []string
	for _, o := range s.Objects {
		if k, runs := workload.Of(o.Kind); runs && k.Deployed && o.Namespace == namespace {
			users = append(users, o.Kind+" "+o.Name)
		}
	}
	for _, p := range s.Pods {
		deleted := func(c plan.Change) bool {
			return c.Object.GetKind() == "ServiceAccount" && c.Object.GetName() == p.ServiceAccount
		}
		if p.Namespace == namespace && !p.Finished() && slices.ContainsFunc(changes, deleted) {
			users = append(users, "pod "+p.Name)
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
