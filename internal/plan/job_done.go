package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/railhead/railhead/internal/cluster"
)

// JobPods are the pods of a job, by name.
func JobPods(s cluster.State, name, namespace string) []cluster.Pod {
	var pods []cluster.Pod
	for _, p := range s.Pods {
		if p.Namespace == namespace && p.Labels[LabelInstance] == name && p.Labels[LabelComponent] == ComponentJob {
			pods = append(pods, p)
		}
	}
	slices.SortFunc(pods, func(a, b cluster.Pod) int { return strings.Compare(a.Name, b.Name) })
	return pods
}

// JobSize is how many pods a job is to have, as its controller is told; 0 where that was not read.
func JobSize(s cluster.State, name, namespace string) int {
	var size any
	if set, ok := object(s, "StatefulSet", namespace, name); ok {
		size, _ = nested(set.Fields, "spec", "replicas")
	} else if set, ok := object(s, "JobSet", namespace, name); ok {
		jobs, _ := nested(set.Fields, "spec", "replicatedJobs")
		if all, _ := jobs.([]any); len(all) > 0 {
			workers, _ := all[0].(map[string]any)
			size, _ = nested(workers, "template", "spec", "parallelism")
		}
	}
	n, err := strconv.Atoi(fmt.Sprint(size))
	if err != nil {
		return 0
	}
	return n
}

// JobDone is done when n pods of a job are ready, or have ended well: of the job as its controller is told to make it, where
// the state has the StatefulSet. It is stuck when one of them will not get there by itself, and says why.
func JobDone(name, namespace string, n int) Condition {
	return func(s cluster.State) Progress {
		if p := s.Problem(cluster.StatefulSets); p != nil {
			return Progress{Text: "whether the change has taken effect could not be read: " + p.Err}
		}
		pods := JobPods(s, name, namespace)
		now := revisionOf(s, name, namespace)
		p := Progress{}
		ready := 0
		for _, pod := range pods {
			if now.former(pod) {
				p.Items = append(p.Items, Item{Name: pod.Name, State: podItem(pod).State, Note: "from before the change: it is replaced"})
				continue
			}
			item := podItem(pod)
			if item.Done {
				ready++
			}
			if o, wrong := ExplainPod(s, pod); wrong {
				item.Note = o.Summary
				p.stuckBy(o)
			}
			p.Items = append(p.Items, item)
		}
		if len(pods) < n {
			missing := Item{Name: fmt.Sprintf("%s not made", counted(n-len(pods), "pod")), State: Waiting, Note: "their controller makes them"}
			asked := cluster.Pod{Namespace: namespace, Name: name + "-0", Owner: "StatefulSet/" + name, Labels: map[string]string{LabelInstance: name}}
			if o, wrong := cluster.Explain(asked, JobEvents(s, name, namespace), s); wrong {
				missing.Note = o.Summary
				p.stuckBy(o)
			}
			p.Items = append(p.Items, missing)
		}
		p.Done = ready >= n
		if p.Done {
			p.Stuck, p.Doubt = nil, nil
		}
		p.Text = fmt.Sprintf("%s: %d of %s ready", name, ready, counted(n, "pod"))
		p.Bars = []Bar{{Name: name, Count: min(ready, n), Total: n}}
		return p
	}
}

// revision is what a StatefulSet makes its pods of.
type revision struct {
	name   string // label controller-revision-hash of its pods; "" where it is not known
	unseen bool   // its controller has not seen the last change, so that all pods are from before
}

// revisionOf is the revision of a job's StatefulSet. The controller writes what it has seen and what it made of it in one go
// (kubernetes pkg/controller/statefulset/stateful_set_control.go updateStatefulSet). A JobSet cannot be changed.
func revisionOf(s cluster.State, name, namespace string) revision {
	set, ok := object(s, "StatefulSet", namespace, name)
	if !ok {
		return revision{}
	}
	wanted, _ := nested(set.Fields, "metadata", "generation")
	observed, _ := nested(set.Fields, "status", "observedGeneration")
	update, _ := nested(set.Fields, "status", "updateRevision")
	r := revision{}
	r.name, _ = update.(string)
	if w, o := number(wanted), number(observed); w != nil && (o == nil || *o < *w) {
		r.unseen = true
	}
	return r
}

// former reports whether a pod was made before the last change of its StatefulSet.
func (r revision) former(p cluster.Pod) bool {
	hash := p.Labels["controller-revision-hash"]
	return r.unseen || (r.name != "" && hash != "" && hash != r.name)
}

func podItem(pod cluster.Pod) Item {
	item := Item{Name: pod.Name, State: pod.Phase, Note: orDefault(pod.Node, "no node yet")}
	switch {
	case pod.Deleted:
		item.State = "Terminating"
	case pod.Phase == "Succeeded", pod.Ready:
		item.Done = true
	}
	for _, c := range pod.Containers {
		if !item.Done && c.Waiting != "" && !pod.Deleted {
			item.State = c.Waiting
			break // init containers come first, and the others wait for them
		}
	}
	return item
}

// ExplainPod says why a pod of a job is not ready, from its own events.
func ExplainPod(s cluster.State, pod cluster.Pod) (cluster.Obstacle, bool) {
	return cluster.Explain(pod, eventsOf(s, pod.Namespace, func(e cluster.Event) bool {
		former := e.UID != "" && pod.UID != "" && e.UID != pod.UID // of a pod that had this name before
		return e.Object == "Pod/"+pod.Name && !former
	}), s)
}

// JobEvents are those of the controllers that make a job's pods: StatefulSet, JobSet and the Job of its workers. What was said
// of an object that is no more does not count, nor what was said before the job was last written: events stay for an hour.
func JobEvents(s cluster.State, name, namespace string) []cluster.Event {
	makers := []string{"StatefulSet/" + name, "JobSet/" + name, "Job/" + name + "-" + jobSetWorkers + "-0"}
	return eventsOf(s, namespace, func(e cluster.Event) bool {
		return slices.Contains(makers, e.Object) && !ofFormer(s, e) && !e.Last.Before(s.Written.Add(-eventTick))
	})
}

// eventTick is how exact the times of events are.
const eventTick = time.Second

// ofFormer reports whether an event is about an object whose name another one has now.
func ofFormer(s cluster.State, e cluster.Event) bool {
	kind, name, _ := strings.Cut(e.Object, "/")
	now, ok := object(s, kind, e.Namespace, name)
	uid, _ := nested(now.Fields, "metadata", "uid")
	return ok && e.UID != "" && uid != nil && uid != e.UID
}

func eventsOf(s cluster.State, namespace string, of func(cluster.Event) bool) []cluster.Event {
	var events []cluster.Event
	for _, e := range s.Events {
		if e.Namespace == namespace && of(e) {
			events = append(events, e)
		}
	}
	return events
}
