package pods

import (
	"strings"
	"testing"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
)

// TestFreeDevices: the scheduler's "Insufficient nvidia.com/gpu" counts nodes without GPUs, too. A resource is used up
// only if no node that has it has enough of it free.
func TestFreeDevices(t *testing.T) {
	const rail = "openshift.io/eno5np0rdma"
	job := cluster.Resources{"nvidia.com/gpu": 8, "memory": 512 << 30, "openshift.io/eno5np0rdma": 1}
	for name, c := range map[string]struct {
		state  func(*cluster.State) // of two nodes with 8 free GPUs each, and one without
		report string
		want   check.ID
		status check.Status
		says   []string
	}{
		"on cordoned nodes": {
			state: func(s *cluster.State) { s.Nodes[1].Unschedulable, s.Nodes[2].Unschedulable = true, true },
			report: "0/3 nodes are available: 1 Insufficient nvidia.com/gpu, 2 node(s) were unschedulable. " +
				"preemption: 0/3 " +
				"nodes are available: 1 No preemption victims found for incoming pod.",
			want: NodeSelection, status: check.Warn,
			says: []string{
				"there is room on gpu-1, gpu-2 (8 nvidia.com/gpu free), but", "gpu-1 (cordoned), gpu-2 (cordoned)",
				"uncordon",
				"node/gpu-1: 8 of 8 nvidia.com/gpu free; cordoned",
			},
		},
		"on nodes with a taint": {
			state: func(s *cluster.State) {
				s.Nodes[1].Taints = []cluster.Taint{{Key: "team", Effect: "NoSchedule"}}
				s.Nodes[2].Taints = s.Nodes[1].Taints
			},
			report: "0/3 nodes are available: 1 Insufficient nvidia.com/gpu, 2 node(s) " +
				"had untolerated taint {team: a}.",
			want: NodeSelection, status: check.Fail, says: []string{"gpu-1 (taint team)", "--toleration"},
		},
		"on nodes that the selector leaves out, whose taint is tolerated": {
			state: func(s *cluster.State) { s.Nodes[1].Taints = []cluster.Taint{{Key: "team", Effect: "NoSchedule"}} },
			report: "0/3 nodes are available: 1 Insufficient nvidia.com/gpu, 2 node(s) didn't match Pod's node " +
				"affinity/selector.",
			want: NodeSelection, status: check.Fail,
			says: []string{"2 node(s) didn't match Pod's node affinity/selector", "--node-selector"},
		},
		"on a node that the selector leaves out, while the selected one is full": {
			state: func(s *cluster.State) { hold(s, "gpu-1", rail, 8) },
			report: "0/3 nodes are available: 1 Insufficient nvidia.com/gpu, 1 Insufficient openshift.io/eno5np0rdma, " +
				"1 node(s) didn't match Pod's node affinity/selector.",
			want: InsufficientResource, status: check.Warn,
			says: []string{
				"gpu-1 lacks openshift.io/eno5np0rdma; there is room on gpu-2", "held by other/holder",
				"didn't match Pod's node affinity/selector",
			},
		},
		"on nodes, of one job alone": {
			state: func(s *cluster.State) { s.SomePods = true },
			report: "0/3 nodes are available: 1 Insufficient nvidia.com/gpu, 2 node(s) didn't match Pod's node " +
				"affinity/selector.",
			want: InsufficientResource, status: check.Warn,
			says: []string{"no node that fits has 8 nvidia.com/gpu free; the pods that hold it were not read"},
		},
		"on nodes, in several resources, of one job alone": {
			state:  func(s *cluster.State) { s.SomePods = true },
			report: "0/3 nodes are available: 3 Insufficient nvidia.com/gpu, 3 Insufficient openshift.io/eno5np0rdma.",
			want:   InsufficientResource, status: check.Warn,
			says: []string{"no node that fits has 8 nvidia.com/gpu and 1 " + rail + " free; the pods that hold them were not read"},
		},
		"on nodes without the pods that it must be with": {
			state: func(*cluster.State) {},
			report: "0/3 nodes are available: 1 Insufficient nvidia.com/gpu, 2 node(s) " +
				"didn't match pod affinity rules.",
			want: NodeSelection, status: check.Fail, says: []string{"didn't match pod affinity rules", "podAffinity"},
		},
		"on nodes with too little memory": {
			state: func(s *cluster.State) {
				hold(s, "gpu-1", "memory", 600<<30)
				hold(s, "gpu-2", "memory", 700<<30)
			},
			report: "0/3 nodes are available: 1 Insufficient nvidia.com/gpu, 3 Insufficient memory.",
			want:   InsufficientResource, status: check.Warn, says: []string{"memory is used up", "held by " +
				"other/holder"},
		},
		"on one node, and memory on the other": {
			state: func(s *cluster.State) {
				hold(s, "gpu-1", "memory", 600<<30)
				hold(s, "gpu-2", "nvidia.com/gpu", 4)
			},
			report: "0/3 nodes are available: 2 Insufficient nvidia.com/gpu, 2 Insufficient memory.",
			want:   InsufficientResource, status: check.Warn,
			says: []string{"at the same time: gpu-1 lacks memory, gpu-2 lacks nvidia.com/gpu"},
		},
		"on nodes without rails": {
			state: func(s *cluster.State) {
				s.Nodes[0].Allocatable = cluster.Resources{rail: 8, "memory": 1 << 40}
				delete(s.Nodes[1].Allocatable, rail) // gpu-2 has the same map
			},
			report: "0/3 nodes are available: 1 Insufficient nvidia.com/gpu, 2 Insufficient openshift.io/eno5np0rdma.",
			want:   InsufficientResource, status: check.Fail,
			says: []string{"no node offers all that h-kim-0 requests of nvidia.com/gpu and openshift.io/eno5np0rdma"},
		},
		"since the report": {
			state:  func(*cluster.State) {},
			report: "0/3 nodes are available: 3 Insufficient nvidia.com/gpu.",
			want:   InsufficientResource, status: check.Warn,
			says: []string{"there is room on gpu-1, gpu-2 (8 nvidia.com/gpu free) now"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := gpuCluster()
			s.Pods = nil
			c.state(&s)
			o, ok := Explain(pending(job), event("FailedScheduling", c.report), s)
			if !ok || o.Check != c.want || o.Status != c.status {
				t.Errorf("got %s %s, want %s %s", o.Status, o.Check, c.status, c.want)
			}
			text := o.Summary + "\n" + o.Fix.Text
			for _, e := range o.Evidence {
				text += "\n" + e.String()
			}
			for _, want := range c.says {
				if !strings.Contains(text, want) {
					t.Errorf("%q is not in:\n%s", want, text)
				}
			}
			if strings.Contains(o.Summary, "gpu is used up") {
				t.Errorf("it says that free GPUs are used up: %s", o.Summary)
			}
		})
	}
}

// hold lets another pod hold some of a node's resource.
func hold(s *cluster.State, node, resource string, n int64) {
	s.Pods = append(s.Pods, cluster.Pod{
		Namespace: "other", Name: "holder", Node: node, Phase: "Running", Requests: cluster.Resources{resource: n},
	})
}
