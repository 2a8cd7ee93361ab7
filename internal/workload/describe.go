package workload

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/railhead/railhead/internal/cluster"
)

// Describe returns an object as a workload. Of the pods of its templates it knows only the service account.
func (k Kind) Describe(object map[string]any) cluster.Workload {
	o := unstructured.Unstructured{Object: object}
	w := cluster.Workload{
		Kind:       k.Name(),
		Namespace:  o.GetNamespace(),
		Name:       o.GetName(),
		UID:        string(o.GetUID()),
		Owner:      maker(o),
		Size:       k.Size(object),
		Changed:    timeAt(object, "metadata.creationTimestamp"),
		Conditions: conditions(object),
	}
	for _, template := range k.PodTemplates(object) {
		account, _ := Field(template, "spec.serviceAccountName").(string)
		w.Templates = append(w.Templates,
			cluster.Pod{Namespace: w.Namespace, ServiceAccount: cmp.Or(account, "default")})
	}
	for _, c := range w.Conditions {
		w.Changed = latest(w.Changed, c.Since)
	}
	w.Changed = latest(w.Changed, timeAt(object, "status.startTime"))
	if w.Wanted = w.Size; ended(w, object) {
		w.Wanted = 0
	} else if completions, ok := whole(Field(object, "spec.completions")); ok { // of a Job
		w.Succeeded, _ = whole(Field(object, "status.succeeded"))
		w.Wanted = min(w.Size, max(0, completions-w.Succeeded))
	}
	return w
}

// maker returns the controller of an object: JobSet/h-kim. The workers of a LeaderWorkerSet are a StatefulSet whose
// controller is a pod, the leader; their maker is the object that a label names.
func maker(o unstructured.Unstructured) string {
	c := metav1.GetControllerOf(&o)
	if c == nil {
		return ""
	}
	for _, k := range Kinds {
		if name := o.GetLabels()[k.Label]; c.Kind == "Pod" && k.Label != "" && name != "" {
			return k.Name() + "/" + name
		}
	}
	return KindName(c.APIVersion, c.Kind) + "/" + c.Name
}

// endings lists the conditions of workloads that make no more pods (k8s.io/api batch/v1, JobSet, TrainJob, Kubeflow's
// training operator), with the states of Volcano's Jobs and of RayJobs.
var endings = []string{
	"Complete", "Completed", "Succeeded", "Failed", "FailureTarget", "SuccessCriteriaMet", "Aborted", "Terminated",
}

// elsewhere is the manager of objects that Kueue runs in another cluster (sigs.k8s.io/kueue MultiKueueControllerName).
const elsewhere = "kueue.x-k8s.io/multikueue"

// ended reports whether a workload has finished, is suspended, is being deleted or runs in another cluster. A Job
// without a number of completions makes no more pods once one has succeeded (k8s.io/api batch/v1 JobSpec).
func ended(w cluster.Workload, object map[string]any) bool {
	succeeded, _ := whole(Field(object, "status.succeeded"))
	is := func(field string, value any) bool {
		return Field(object, "spec."+field) == value || Field(object, "spec.runPolicy."+field) == value
	}
	return is("suspend", true) || is("managedBy", elsewhere) ||
		Field(object, "metadata.deletionTimestamp") != nil ||
		succeeded > 0 && Field(object, "spec.completions") == nil ||
		slices.ContainsFunc(w.Conditions, func(c cluster.Condition) bool { return slices.Contains(endings, c.Type) })
}

// states are the fields of kinds that have a state with a reason and a message instead of conditions: volcano.sh/apis
// batch/v1alpha1 JobState, and ray-operator apis/ray/v1 RayJobStatus.
var states = map[string]string{"status.state": "phase", "status": "jobDeploymentStatus"}

// conditions returns the conditions that are true, and the state of a workload that has ended.
func conditions(object map[string]any) []cluster.Condition {
	list, _ := Field(object, "status.conditions").([]any)
	var all []cluster.Condition
	for _, item := range list {
		if c, _ := item.(map[string]any); c["status"] == "True" {
			all = append(all, conditionOf(c, "type"))
		}
	}
	for path, name := range states {
		state, _ := Field(object, path).(map[string]any)
		if c := conditionOf(state, name); slices.Contains(endings, c.Type) {
			all = append(all, c)
		}
	}
	return all
}

func conditionOf(fields map[string]any, name string) cluster.Condition {
	text := func(key string) string {
		value, _ := fields[key].(string)
		return value
	}
	return cluster.Condition{
		Type:    text(name),
		Status:  "True",
		Reason:  text("reason"),
		Message: text("message"),
		Since:   timeAt(fields, "lastTransitionTime"),
	}
}

func timeAt(object map[string]any, path string) time.Time {
	text, _ := Field(object, path).(string)
	t, _ := time.Parse(time.RFC3339, text) // zero: not known
	return t
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
