package workload

import (
	"slices"
	"strings"
	"time"

	"github.com/railhead/railhead/internal/cluster"
)

// Labels of the objects and pods of a job that `railhead deploy` made.
const (
	LabelInstance  = "app.kubernetes.io/instance" // name of the job
	LabelComponent = "app.kubernetes.io/component"
	ComponentJob   = "job"
)

// OfJob reports whether a pod belongs to a job.
func OfJob(p cluster.Pod, job, namespace string) bool {
	return p.Namespace == namespace && p.Labels[LabelInstance] == job && p.Labels[LabelComponent] == ComponentJob
}

// PodsOf returns the pods of a job, by name.
func PodsOf(s cluster.State, job, namespace string) []cluster.Pod {
	var pods []cluster.Pod
	for _, p := range s.Pods {
		if OfJob(p, job, namespace) {
			pods = append(pods, p)
		}
	}
	slices.SortFunc(pods, func(a, b cluster.Pod) int { return strings.Compare(a.Name, b.Name) })
	return pods
}

// Find returns the object that runs the pods of a job; ok is false when it does not exist or was not read.
func Find(s cluster.State, job, namespace string) (k Kind, object cluster.Object, ok bool) {
	for _, k := range Kinds {
		if object, ok := s.Object(k.GVK.Kind, namespace, job); ok && k.Deployed {
			return k, object, true
		}
	}
	return Kind{}, cluster.Object{}, false
}

// SizeOf returns how many pods a job should have; 0 where that was not read.
func SizeOf(s cluster.State, job, namespace string) int {
	k, object, ok := Find(s, job, namespace)
	if !ok {
		return 0
	}
	return k.Size(object.Fields)
}

// Outdated returns a function that reports whether a pod was made before the last change of its job. A StatefulSet
// controller writes the generation that it has seen and the revision of new pods in one update (kubernetes
// pkg/controller/statefulset/stateful_set_control.go updateStatefulSet).
func Outdated(s cluster.State, job, namespace string) func(cluster.Pod) bool {
	k, object, ok := Find(s, job, namespace)
	if !ok || k.Revision == "" {
		return func(cluster.Pod) bool { return false }
	}
	generation, _ := whole(Field(object.Fields, "metadata.generation"))
	observed, _ := whole(Field(object.Fields, "status.observedGeneration"))
	revision, _ := Field(object.Fields, k.Revision).(string)
	return func(p cluster.Pod) bool {
		hash := p.Labels["controller-revision-hash"]
		return observed < generation || revision != "" && hash != "" && hash != revision
	}
}

// EventsOf returns the events of the objects that make the pods of a job. Kubernetes keeps events for an hour: those
// of deleted objects of the same name, and those from before the job was last written, are left out.
func EventsOf(s cluster.State, job, namespace string) []cluster.Event {
	const tick = time.Second // resolution of the times of events
	var makers []string
	for _, k := range Kinds {
		for _, maker := range k.Makers {
			makers = append(makers, strings.ReplaceAll(maker, "NAME", job))
		}
	}
	var events []cluster.Event
	for _, e := range s.Events {
		current := !aboutDeleted(s, e) && !e.Last.Before(s.Written.Add(-tick))
		if e.Namespace == namespace && slices.Contains(makers, e.Object) && current {
			events = append(events, e)
		}
	}
	return events
}

// aboutDeleted reports whether an event is about a deleted object whose name another object has now.
func aboutDeleted(s cluster.State, e cluster.Event) bool {
	kind, name, _ := strings.Cut(e.Object, "/")
	now, ok := s.Object(kind, e.Namespace, name)
	uid := Field(now.Fields, "metadata.uid")
	return ok && e.UID != "" && uid != nil && uid != e.UID
}

// LeaderOf returns the name of the pod of rank 0.
func (k Kind) LeaderOf(job string) string { return strings.ReplaceAll(k.Leader, "NAME", job) }

// Missing returns a pod of a job that its controller has not made, as far as it is known.
func Missing(s cluster.State, job, namespace string) cluster.Pod {
	kind := "StatefulSet" // the default of deploy, where the object was not read
	if k, _, ok := Find(s, job, namespace); ok {
		kind = k.GVK.Kind
	}
	return cluster.Pod{
		Namespace: namespace,
		Name:      job + "-0",
		Owner:     kind + "/" + job,
		Labels:    map[string]string{LabelInstance: job},
	}
}
