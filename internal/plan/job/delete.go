package job

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/plan/claims"
	"github.com/railhead/railhead/internal/plan/delivery"
	"github.com/railhead/railhead/internal/plan/podspec"
	"github.com/railhead/railhead/internal/words"
	"github.com/railhead/railhead/internal/workload"
)

// Delete returns the plan that deletes the objects that `deploy` created for a job, and the ConfigMaps of railhead-pod
// if no other job of the namespace needs them. Whatever an object leads to is deleted before it, and the ConfigMaps
// before the job's last object: otherwise nothing would lead to them after an interruption.
func Delete(s cluster.State, name, namespace string) (plan.Plan, []check.Finding) {
	if !s.Knows(cluster.Objects) {
		return plan.Plan{}, plan.Unreadable(s, cluster.Objects)
	}
	own := jobObjects(s, name, namespace)
	if len(own) == 0 {
		return plan.Plan{}, []check.Finding{noJob(s, name, namespace)}
	}
	step := plan.Step{ID: "delete", Done: Gone(name, namespace), Watch: []cluster.Kind{cluster.Pods}}
	for i, o := range own {
		for _, template := range claims.TemplatesOf(o.Fields, name) {
			step.Changes = append(step.Changes, claims.Deletion(namespace, template))
		}
		if i == len(own)-1 {
			for _, part := range unneeded(s, name, namespace) {
				why := "contains railhead-pod, which no other job needs"
				step.Changes = append(step.Changes, plan.Deletion(part, why))
			}
		}
		step.Changes = append(step.Changes, plan.Deletion(o, "created by deploy for "+name))
	}
	step.Title = fmt.Sprintf("Delete %s of %s", words.Count(len(step.Changes), "object"), name)
	p := plan.Plan{Title: fmt.Sprintf("Delete %s in namespace %s", name, namespace), Steps: []plan.Step{step}}
	if n := len(workload.PodsOf(s, workload.Ref{Name: name}, namespace)); n > 0 {
		p.Notes = []string{fmt.Sprintf("This ends %s of %s.", words.Count(n, "pod"), name)}
	}
	return p, nil
}

// jobObjects returns the objects that deploy created for a job, those that make pods first.
func jobObjects(s cluster.State, name, namespace string) []cluster.Object {
	var own []cluster.Object
	for _, o := range s.Objects {
		if o.Namespace == namespace && jobOf(o) == name {
			own = append(own, o)
		}
	}
	slices.SortStableFunc(own, func(a, b cluster.Object) int {
		return cmp.Or(deleteOrder(a)-deleteOrder(b), strings.Compare(a.Name, b.Name))
	})
	return own
}

// jobOf returns the job for which deploy created an object, or "". Objects with an owner are deleted with it.
func jobOf(o cluster.Object) string {
	u := unstructured.Unstructured{Object: o.Fields}
	labels := u.GetLabels()
	if labels[plan.LabelComponent] != workload.ComponentJob || len(u.GetOwnerReferences()) > 0 {
		return ""
	}
	return labels[plan.LabelInstance]
}

func deleteOrder(o cluster.Object) int {
	if k, ok := workload.Of(o.Kind); ok && k.Deployed {
		return -1
	}
	return slices.Index([]string{"Service", "ConfigMap"}, o.Kind)
}

// unneeded returns the ConfigMaps of railhead-pod that no other object of the namespace mounts. One with an instance
// belongs to the injected manifest of that name, which may not exist yet.
func unneeded(s cluster.State, name, namespace string) []cluster.Object {
	var needed []string
	for _, o := range s.Objects {
		if o.Namespace == namespace && jobOf(o) != name {
			needed = append(needed, podspec.Referenced(o.Fields, "configMap.name")...)
		}
	}
	var parts []cluster.Object
	for _, o := range s.Objects {
		if o.Namespace != namespace || o.Kind != "ConfigMap" || slices.Contains(needed, o.Name) {
			continue
		}
		labels := (&unstructured.Unstructured{Object: o.Fields}).GetLabels()
		shared := labels[plan.LabelComponent] == delivery.Component && labels[delivery.LabelKeep] == ""
		if shared && cmp.Or(labels[plan.LabelInstance], name) == name {
			parts = append(parts, o)
		}
	}
	slices.SortFunc(parts, func(a, b cluster.Object) int { return strings.Compare(a.Name, b.Name) })
	return parts
}

// Names returns the names of the jobs that deploy created in a namespace.
func Names(s cluster.State, namespace string) []string {
	var names []string
	for _, o := range s.Objects {
		if name := jobOf(o); name != "" && o.Namespace == namespace {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func noJob(s cluster.State, name, namespace string) check.Finding {
	jobs, label := Names(s, namespace), plan.LabelManagedBy+"="+plan.ManagedBy
	var kinds []string // without those that the cluster does not have: kubectl would list none of them
	for _, k := range workload.Kinds {
		if k.Deployed && (!strings.Contains(k.GVK.Group, ".") || s.Server.Serves(k.GVK.Group)) {
			kinds = append(kinds, strings.ToLower(k.GVK.Kind))
		}
	}
	return plan.Failure(JobFound, check.Named(check.Job, name),
		fmt.Sprintf("namespace %s has no job %s that railhead deployed", namespace, name),
		check.Observed("objects with label "+label, plan.OrNone(jobs), name),
		check.ByUser(words.DidYouMean(name, jobs, "Check the name and the namespace."),
			"kubectl get "+strings.Join(kinds, ",")+" -A -l "+label))
}

// Gone is done when no pod of the job is left.
func Gone(name, namespace string) plan.Condition {
	return func(s cluster.State) plan.Progress {
		if p := s.Problem(cluster.Pods); p != nil {
			return plan.Progress{Text: name + ": whether pods are left could not be read: " + p.Err}
		}
		pods := workload.PodsOf(s, workload.Ref{Name: name}, namespace)
		p := plan.Progress{Done: len(pods) == 0, Text: fmt.Sprintf("%s: %s left", name, words.Count(len(pods), "pod"))}
		for _, pod := range pods {
			p.Items = append(p.Items, plan.Item{Name: pod.Name, State: "Terminating", Note: pod.Node})
		}
		return p
	}
}
