package plan

import (
	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/rules/pods"
)

// ExplainPod returns why a pod is not ready, as its own events tell; ok is false when nothing is wrong.
func ExplainPod(s cluster.State, pod cluster.Pod) (o check.Obstacle, ok bool) {
	var events []cluster.Event
	for _, e := range s.Events {
		ofPredecessor := e.UID != "" && pod.UID != "" && e.UID != pod.UID
		if e.Namespace == pod.Namespace && e.Object == "Pod/"+pod.Name && !ofPredecessor {
			events = append(events, e)
		}
	}
	return pods.Explain(pod, events, s)
}
