package job

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/words"
	"github.com/railhead/railhead/internal/workload"
)

// deleteOrder returns the place of an object in the order of deletion: objects that make pods come first.
func deleteOrder(o cluster.Object) int {
	if k, ok := workload.Of(o.Kind); ok && k.Deployed {
		return -1
	}
	return slices.Index([]string{"Service", "ConfigMap"}, o.Kind)
}

// Delete returns the plan that removes exactly the objects that `deploy` made for a job, and those that carry
// railhead-pod with the last job of the namespace that needs it.
func Delete(s cluster.State, name, namespace string) (plan.Plan, []check.Finding) {
	if !s.Knows(cluster.Objects) {
		return plan.Plan{}, plan.Unreadable(s, cluster.Objects)
	}
	own := jobObjects(s, name, namespace)
	if len(own) == 0 {
		return plan.Plan{}, []check.Finding{noJob(s, name, namespace)}
	}
	parts := unneeded(s, name, namespace, own)
	p := plan.Plan{Title: fmt.Sprintf("Delete %s in namespace %s", name, namespace)}
	step := plan.Step{
		ID: "delete", Title: fmt.Sprintf("Delete %s of %s", words.Count(len(own)+len(parts), "object"), name),
		Done: Gone(name, namespace), Watch: []cluster.Kind{cluster.Pods},
	}
	for _, o := range own {
		step.Changes = append(step.Changes, plan.Change{
			Verb:   plan.Delete,
			Object: reference(o),
			Why:    "deploy made it for " + name,
		})
	}
	for _, o := range parts {
		step.Changes = append(step.Changes, plan.Change{
			Verb:   plan.Delete,
			Object: reference(o),
			Why:    "carries railhead-pod, and no other job needs it",
		})
	}
	p.Steps = []plan.Step{step}
	if n := len(workload.PodsOf(s, name, namespace)); n > 0 {
		p.Notes = append(p.Notes, fmt.Sprintf("%s of %s end.", words.Count(n, "pod"), name))
	}
	return p, nil
}

// jobObjects returns the objects that deploy made for a job, in the order of deletion. Objects with an owner are
// deleted with it.
func jobObjects(s cluster.State, name, namespace string) []cluster.Object {
	var own []cluster.Object
	for _, o := range s.Objects {
		labels := labelsOf(o)
		if o.Namespace == namespace && labels[plan.LabelInstance] == name && labels[plan.LabelComponent] == workload.ComponentJob && !owned(o) {
			own = append(own, o)
		}
	}
	slices.SortStableFunc(own, func(a, b cluster.Object) int {
		return cmp.Or(deleteOrder(a)-deleteOrder(b), strings.Compare(a.Name, b.Name))
	})
	return own
}

func labelsOf(o cluster.Object) map[string]string {
	return (&unstructured.Unstructured{Object: o.Fields}).GetLabels()
}

func owned(o cluster.Object) bool {
	u := unstructured.Unstructured{Object: o.Fields}
	return len(u.GetOwnerReferences()) > 0
}

func reference(o cluster.Object) unstructured.Unstructured {
	return unstructured.Unstructured{Object: map[string]any{
		"apiVersion": o.APIVersion,
		"kind":       o.Kind,
		"metadata":   map[string]any{"name": o.Name, "namespace": o.Namespace},
	}}
}

// unneeded are the parts of railhead-pod that no other job of the namespace mounts. Those with an instance were printed
// by `inject` for a manifest of that name, which is not looked into here.
func unneeded(s cluster.State, name, namespace string, own []cluster.Object) []cluster.Object {
	needed := map[string]bool{}
	for _, o := range s.Objects {
		if o.Namespace == namespace && !slices.ContainsFunc(
			own, func(mine cluster.Object) bool { return mine.Kind == o.Kind && mine.Name == o.Name },
		) {
			for _, configMap := range mounted(o.Fields) {
				needed[configMap] = true
			}
		}
	}
	var parts []cluster.Object
	for _, o := range s.Objects {
		labels := labelsOf(o)
		free := labels[plan.LabelInstance] == "" || labels[plan.LabelInstance] == name
		if o.Namespace == namespace && o.Kind == "ConfigMap" && labels[plan.LabelComponent] == ComponentPod && free && !needed[o.Name] {
			parts = append(parts, o)
		}
	}
	slices.SortFunc(parts, func(a, b cluster.Object) int { return strings.Compare(a.Name, b.Name) })
	return parts
}

// mounted are the ConfigMaps that an object names anywhere, as {configMap: {name: ...}}.
func mounted(value any) []string {
	var names []string
	switch v := value.(type) {
	case map[string]any:
		if c, ok := v["configMap"].(map[string]any); ok {
			if name, ok := c["name"].(string); ok {
				names = append(names, name)
			}
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			names = append(names, mounted(v[key])...)
		}
	case []any:
		for _, item := range v {
			names = append(names, mounted(item)...)
		}
	}
	return names
}

// Names returns the names of the jobs that deploy made in a namespace.
func Names(s cluster.State, namespace string) []string {
	found := map[string]bool{}
	for _, o := range s.Objects {
		if labels := labelsOf(o); o.Namespace == namespace && labels[plan.LabelComponent] == workload.ComponentJob && !owned(o) {
			found[labels[plan.LabelInstance]] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

func noJob(s cluster.State, name, namespace string) check.Finding {
	jobs := Names(s, namespace)
	f := check.Finding{
		Check: JobFound, Status: check.Fail, Subject: check.Named(check.Job, name),
		Summary: fmt.Sprintf("namespace %s has no job %s that railhead deployed", namespace, name),
		Evidence: []check.Evidence{
			{
				Source: "objects with label " + plan.LabelManagedBy + "=" + plan.ManagedBy,
				Got:    cmp.Or(strings.Join(jobs, ", "), "none"),
				Want:   name,
			},
		},
		Fix: &check.Fix{
			Text: "Name one that is there, and its namespace.",
			Who:  check.User,
			Commands: []string{
				"kubectl get " + strings.Join(
					workload.Resources(), ",",
				) + " -A -l " + plan.LabelManagedBy + "=" + plan.ManagedBy,
			},
		},
	}
	if near := words.Nearest(name, jobs); len(near) > 0 {
		f.Fix.Text = "Did you mean " + strings.Join(near, " or ") + "?"
	}
	return f
}

// Gone is done when no pod of the job is left.
func Gone(name, namespace string) plan.Condition {
	return func(s cluster.State) plan.Progress {
		pods := workload.PodsOf(s, name, namespace)
		p := plan.Progress{Done: len(pods) == 0, Text: fmt.Sprintf("%s: %s left", name, words.Count(len(pods), "pod"))}
		for _, pod := range pods {
			p.Items = append(p.Items, plan.Item{Name: pod.Name, State: "Terminating", Note: pod.Node})
		}
		return p
	}
}
