package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
)

// deleteOrder is the order in which a job's objects go: first what makes pods.
var deleteOrder = []string{"JobSet", "StatefulSet", "Service", "ConfigMap"}

// DeleteJob is the plan that removes exactly what `deploy` made for a job, and what carries railhead-pod with the last job of
// the namespace that needs it.
func DeleteJob(s cluster.State, name, namespace string) (Plan, []check.Finding) {
	if !s.Knows(cluster.Objects) {
		return Plan{}, unreadable(s, cluster.Objects)
	}
	own := jobObjects(s, name, namespace)
	if len(own) == 0 {
		return Plan{}, []check.Finding{noJob(s, name, namespace)}
	}
	parts := unneeded(s, name, namespace, own)
	p := Plan{Title: fmt.Sprintf("Delete %s in namespace %s", name, namespace)}
	step := Step{
		ID: "delete", Title: fmt.Sprintf("Delete %s of %s", counted(len(own)+len(parts), "object"), name),
		Done: JobGone(name, namespace), Watch: []cluster.Kind{cluster.Pods},
	}
	for _, o := range own {
		step.Changes = append(step.Changes, Change{Verb: Delete, Object: reference(o), Why: "deploy made it for " + name})
	}
	for _, o := range parts {
		step.Changes = append(step.Changes, Change{Verb: Delete, Object: reference(o), Why: "carries railhead-pod, and no other job needs it"})
	}
	p.Steps = []Step{step}
	if n := len(JobPods(s, name, namespace)); n > 0 {
		p.Notes = append(p.Notes, fmt.Sprintf("%s of %s end.", counted(n, "pod"), name))
	}
	return p, nil
}

// jobObjects are those that deploy made for a job, in the order in which they go. What has an owner goes with it.
func jobObjects(s cluster.State, name, namespace string) []cluster.Object {
	var own []cluster.Object
	for _, o := range s.Objects {
		labels := labelsOf(o)
		if o.Namespace == namespace && labels[LabelInstance] == name && labels[LabelComponent] == ComponentJob && !owned(o) {
			own = append(own, o)
		}
	}
	slices.SortStableFunc(own, func(a, b cluster.Object) int {
		if x, y := slices.Index(deleteOrder, a.Kind), slices.Index(deleteOrder, b.Kind); x != y {
			return x - y
		}
		return strings.Compare(a.Name, b.Name)
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
		"apiVersion": o.APIVersion, "kind": o.Kind, "metadata": map[string]any{"name": o.Name, "namespace": o.Namespace},
	}}
}

// unneeded are the parts of railhead-pod that no other job of the namespace mounts. Those with an instance were printed by
// `inject` for a manifest of that name, which is not looked into here.
func unneeded(s cluster.State, name, namespace string, own []cluster.Object) []cluster.Object {
	needed := map[string]bool{}
	for _, o := range s.Objects {
		if o.Namespace == namespace && !slices.ContainsFunc(own, func(mine cluster.Object) bool { return mine.Kind == o.Kind && mine.Name == o.Name }) {
			for _, configMap := range mounted(o.Fields) {
				needed[configMap] = true
			}
		}
	}
	var parts []cluster.Object
	for _, o := range s.Objects {
		labels := labelsOf(o)
		free := labels[LabelInstance] == "" || labels[LabelInstance] == name
		if o.Namespace == namespace && o.Kind == "ConfigMap" && labels[LabelComponent] == ComponentPod && free && !needed[o.Name] {
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

// Jobs are the names of the jobs that deploy made in a namespace.
func Jobs(s cluster.State, namespace string) []string {
	found := map[string]bool{}
	for _, o := range s.Objects {
		if labels := labelsOf(o); o.Namespace == namespace && labels[LabelComponent] == ComponentJob && !owned(o) {
			found[labels[LabelInstance]] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

func noJob(s cluster.State, name, namespace string) check.Finding {
	jobs := Jobs(s, namespace)
	f := check.Finding{
		Check: JobFound, Status: check.Fail, Subject: check.Subject("job/" + name),
		Summary:  fmt.Sprintf("namespace %s has no job %s that railhead deployed", namespace, name),
		Evidence: []check.Evidence{{Source: "objects with label " + LabelManagedBy + "=" + ManagedBy, Got: orNone(strings.Join(jobs, ", ")), Want: name}},
		Fix:      &check.Fix{Text: "Name one that is there, and its namespace.", Who: check.User, Commands: []string{"kubectl get statefulsets,jobsets -A -l " + LabelManagedBy + "=" + ManagedBy}},
	}
	if near := cluster.Nearest(name, jobs); len(near) > 0 {
		f.Fix.Text = "Did you mean " + strings.Join(near, " or ") + "?"
	}
	return f
}

// JobGone is done when no pod of the job is left.
func JobGone(name, namespace string) Condition {
	return func(s cluster.State) Progress {
		pods := JobPods(s, name, namespace)
		p := Progress{Done: len(pods) == 0, Text: fmt.Sprintf("%s: %s left", name, counted(len(pods), "pod"))}
		for _, pod := range pods {
			p.Items = append(p.Items, Item{Name: pod.Name, State: "Terminating", Note: pod.Node})
		}
		return p
	}
}
