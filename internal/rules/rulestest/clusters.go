package rulestest

import (
	"encoding/json"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/host/hosttest"
)

// Training returns an OpenShift cluster with two GPU nodes of two rails each, on which a job of two pods runs: h-kim-0
// and h-kim-1.
func Training(t testing.TB) cluster.State {
	t.Helper()
	text, err := os.ReadFile(hosttest.Testdata(t, "clusters/training.json"))
	if err != nil {
		t.Fatal(err)
	}
	var s cluster.State
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// Pod returns a pod by its name.
func Pod(s *cluster.State, name string) *cluster.Pod {
	return &s.Pods[slices.IndexFunc(s.Pods, func(p cluster.Pod) bool { return p.Name == name })]
}

func jobPods(s *cluster.State) []*cluster.Pod {
	return []*cluster.Pod{Pod(s, "h-kim-0"), Pod(s, "h-kim-1")}
}

// Pending makes a pod wait, with an event that says why.
func Pending(s *cluster.State, name, reason, message string) {
	p := Pod(s, name)
	p.Ready, p.Phase, p.Node, p.Unscheduled = false, "Pending", "", message
	p.Containers = []cluster.Container{{Name: "train", Waiting: "ContainerCreating"}}
	s.Events = append(s.Events, cluster.Event{
		Namespace: p.Namespace, Object: "Pod/" + name, Type: "Warning", Reason: reason, Message: message,
		Last: time.Unix(1, 0),
	})
}

func jobSet(s *cluster.State) {
	for _, p := range jobPods(s) {
		p.Labels = map[string]string{"jobset.sigs.k8s.io/jobset-name": "h-kim"}
	}
}

// TrainJob makes the job one of Kubeflow Trainer, with resources for each node.
func TrainJob(s *cluster.State, perNode cluster.Resources) {
	jobSet(s)
	s.TrainJobs = []cluster.TrainJob{
		{Namespace: "elsewhere", Name: "h-kim"},
		{Namespace: "train", Name: "h-kim", Runtime: "torch", PerNode: perNode},
	}
}

// GPUsOnly makes the pods of the job, then a JobSet, request GPUs and nothing else.
func GPUsOnly(s *cluster.State) {
	jobSet(s)
	for _, p := range jobPods(s) {
		p.Annotations, p.Requests = nil, cluster.Resources{"nvidia.com/gpu": 8}
	}
}

// Claim gives each pod of the job a port of dranet.
func Claim(s *cluster.State, ports ...string) {
	s.Read = append(s.Read, cluster.ResourceClaims)
	for i, port := range ports {
		p := jobPods(s)[i]
		p.Claims = []string{"rails"}
		s.DRADevices = append(s.DRADevices, cluster.DRADevice{
			Driver: cluster.DRANet, Pool: p.Node, Node: p.Node, Name: port, RDMA: true,
			Attribute: map[string]string{"dra.net/ifName": port},
		})
		s.ResourceClaims = append(s.ResourceClaims, cluster.ResourceClaim{
			Namespace: p.Namespace, Name: p.Name + "-rails", Pod: p.Name, Allocated: true,
			Devices: []cluster.ClaimedDevice{{Driver: cluster.DRANet, Pool: p.Node, Name: port}},
		})
	}
}

// ComputeDomain gives each pod of the job a channel of one ComputeDomain, and its node the NVLink clique. A node with
// the clique "" has no label of one.
func ComputeDomain(s *cluster.State, cliques ...string) {
	s.Read = append(s.Read, cluster.ResourceClaims)
	for i, clique := range cliques {
		p := jobPods(s)[i]
		p.Claims = []string{"imex"}
		s.ResourceClaims = append(s.ResourceClaims, cluster.ResourceClaim{
			Namespace: p.Namespace, Name: p.Name + "-imex", Pod: p.Name, Allocated: true,
			Devices: []cluster.ClaimedDevice{{Driver: cluster.DRAIMEX, Pool: p.Node, Name: "channel-0"}},
		})
		for k := range s.Nodes {
			if s.Nodes[k].Name == p.Node && clique != "" {
				s.Nodes[k].Labels = map[string]string{"nvidia.com/gpu.clique": clique}
			}
		}
	}
}

// Driver returns the pod of the network driver on a node. It is not ready.
func Driver(node string) cluster.Pod {
	return cluster.Pod{
		Namespace: "nvidia-network-operator", Name: "mofed-" + node, Owner: "DaemonSet/mofed-rhcos4.18-6f4c8d-ds",
		Node: node, Phase: "Running",
	}
}
