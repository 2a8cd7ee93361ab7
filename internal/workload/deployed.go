package workload

import (
	"slices"
	"strings"
	"time"

	"github.com/railhead/railhead/internal/cluster"
)

// Labels of the objects and pods of a job that `railhead deploy` created.
const (
	LabelInstance  = "app.kubernetes.io/instance" // name of the job
	LabelComponent = "app.kubernetes.io/component"
	ComponentJob   = "job"
)

// Injected is an annotation of pod templates to which Railhead added rails: how the containers get their settings.
const (
	Injected  = "railhead.dev/injected"
	ByCommand = "command" // railhead-pod starts the command
	ByFiles   = "files"   // an init container writes files
)

// OfJob reports whether a pod belongs to a job.
func OfJob(p cluster.Pod, job, namespace string) bool {
	return p.Namespace == namespace && p.Labels[LabelInstance] == job && p.Labels[LabelComponent] == ComponentJob
}

// PodsOf returns the pods of a job, by name. If railhead deployed none, the job is the workload of the name.
func PodsOf(s cluster.State, job Ref, namespace string) []cluster.Pod {
	f, _ := Lookup(s, job, namespace)
	slices.SortFunc(f.Pods, func(a, b cluster.Pod) int { return strings.Compare(a.Name, b.Name) })
	return f.Pods
}

// podsOfJob returns the pods of a job that railhead deployed.
func podsOfJob(s cluster.State, job, namespace string) []cluster.Pod {
	var pods []cluster.Pod
	for _, p := range s.Pods {
		if OfJob(p, job, namespace) {
			pods = append(pods, p)
		}
	}
	return pods
}

// Find returns the object that runs the pods of a job; ok is false if it does not exist or was not read.
func Find(s cluster.State, job, namespace string) (k Kind, object cluster.Object, ok bool) {
	for _, k := range Kinds {
		if object, ok := s.Object(k.GVK.Kind, namespace, job); ok && k.Deployed {
			return k, object, true
		}
	}
	return Kind{}, cluster.Object{}, false
}

// Outdated returns a function that reports whether a pod is older than the last change of its job. The StatefulSet
// controller writes the observed generation and the revision of new pods in one update (kubernetes
// pkg/controller/statefulset/stateful_set_control.go updateStatefulSet).
func Outdated(s cluster.State, job Ref, namespace string) func(cluster.Pod) bool {
	k, object, _ := Find(s, job.Name, namespace)
	if k.Revision == "" || job.Kind != "" && job.Kind != k.Name() {
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

// EventsOf returns the events of the objects that make the pods of a job. Kubernetes keeps events for an hour, so it
// skips events of deleted objects with the same name, and events from before the job was last written.
func EventsOf(s cluster.State, job, namespace string) []cluster.Event {
	since := s.Written.Add(-time.Second) // the resolution of event times
	var makers []string
	for _, k := range Kinds {
		for _, maker := range k.Makers {
			makers = append(makers, strings.ReplaceAll(maker, "NAME", job))
		}
	}
	var events []cluster.Event
	for _, e := range s.Events {
		fromMaker := e.Namespace == namespace && slices.Contains(makers, e.Object)
		if fromMaker && !e.Last.Before(since) && !aboutDeleted(s, e) {
			events = append(events, e)
		}
	}
	return events
}

// aboutDeleted reports whether an event is about a deleted object, whose name another one has now.
func aboutDeleted(s cluster.State, e cluster.Event) bool {
	kind, name, _ := strings.Cut(e.Object, "/")
	now, ok := s.Object(kind, e.Namespace, name)
	uid := Field(now.Fields, "metadata.uid")
	return ok && e.UID != "" && uid != nil && uid != e.UID
}

// LeaderOf returns the name of the pod of rank 0.
func (k Kind) LeaderOf(job string) string { return strings.ReplaceAll(k.Leader, "NAME", job) }

// Missing returns a stand-in for a pod of a job that its controller has not created.
func Missing(s cluster.State, job, namespace string) cluster.Pod {
	k, _, ok := Find(s, job, namespace)
	if !ok {
		k = Kinds[0] // StatefulSet, the default of deploy
	}
	return cluster.Pod{
		Namespace: namespace,
		Name:      job + "-0",
		Owner:     k.GVK.Kind + "/" + job,
		Labels:    map[string]string{LabelInstance: job},
	}
}
