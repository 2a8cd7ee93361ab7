package rules

import (
	"encoding/json"
	"os"
	"slices"
	"time"

	"github.com/railhead/railhead/internal/cluster"
)

// training is an OpenShift with two GPU nodes of two rails each, on which a job of two pods runs.
func training() cluster.State {
	var s cluster.State
	text, err := os.ReadFile("../../testdata/clusters/training.json")
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	if err != nil {
		panic(err)
	}
	return s
}

func podOf(s *cluster.State, name string) *cluster.Pod {
	return &s.Pods[slices.IndexFunc(s.Pods, func(p cluster.Pod) bool { return p.Name == name })]
}

func pending(s *cluster.State, name, reason, message string) {
	p := podOf(s, name)
	p.Ready, p.Phase, p.Node, p.Unscheduled = false, "Pending", "", message
	p.Containers = []cluster.Container{{Name: "train", Waiting: "ContainerCreating"}}
	s.Events = append(s.Events, cluster.Event{Namespace: p.Namespace, Object: "Pod/" + name, Type: "Warning", Reason: reason, Message: message, Last: time.Unix(1, 0)})
}

// ofJobSet makes the job's pods those of a JobSet.
func ofJobSet(s *cluster.State) {
	for _, name := range []string{"h-kim-0", "h-kim-1"} {
		podOf(s, name).Labels = map[string]string{"jobset.sigs.k8s.io/jobset-name": "h-kim"}
	}
}

// trainJob says that Kubeflow Trainer made the JobSet, with resources for each node.
func trainJob(s *cluster.State, perNode cluster.Resources) {
	ofJobSet(s)
	s.TrainJobs = []cluster.TrainJob{{Namespace: "elsewhere", Name: "h-kim"}, {Namespace: "train", Name: "h-kim", Runtime: "torch", PerNode: perNode}}
}

// alone leaves the job's pods nothing but their GPUs.
func alone(s *cluster.State) {
	ofJobSet(s)
	for _, name := range []string{"h-kim-0", "h-kim-1"} {
		p := podOf(s, name)
		p.Annotations, p.Requests = nil, cluster.Resources{"nvidia.com/gpu": 8}
	}
}

// driver is the pod of the network driver on a node, which is not ready.
func driver(node string) cluster.Pod {
	return cluster.Pod{Namespace: "nvidia-network-operator", Name: "mofed-" + node, Owner: "DaemonSet/mofed-rhcos4.18-6f4c8d-ds", Node: node, Phase: "Running"}
}
