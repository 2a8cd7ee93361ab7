package rules

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/rules/clusterrules"
	"github.com/railhead/railhead/internal/rules/fleet"
	"github.com/railhead/railhead/internal/rules/machine"
)

func problem(id check.ID, status check.Status, machines ...check.Ref) Problem {
	return Problem{Finding: check.Finding{Check: id, Status: status, Summary: "it"}, Machines: machines}
}

// A fault of pods that requested too little is under that problem.
func TestFoldUnrequested(t *testing.T) {
	h0, h1 := check.PodRef("train", "h-0"), check.PodRef("train", "h-1")
	one, x := check.PodRef("train",
		"one"), check.PodRef("train", "x")
	job := Problem{Finding: check.Finding{
		Check: clusterrules.RDMARequested, Status: check.Fail, About: []check.Ref{h0, h1},
		Subject: check.Ref{Kind: check.Job, Namespace: "train", Name: "h"},
	}}
	pod := Problem{Finding: check.Finding{Check: clusterrules.PodResources, Status: check.Fail, Subject: one}}
	f := folder{explainedBy: machine.Pod(host.Snapshot{}, machine.Options{}).ExplainedBy}
	for name, test := range map[string]struct {
		problems []Problem
		want     []string
	}{
		"a job": {
			[]Problem{job, problem("device-allocated", check.Fail, h0, h1)},
			[]string{"fail rdma-requested"},
		},
		"a job and another pod": {
			[]Problem{job, problem("device-allocated", check.Fail, h0, x)},
			[]string{"fail rdma-requested", "fail device-allocated"},
		},
		"one pod of its networks": {
			[]Problem{problem("uverbs-openable", check.Fail, one), pod},
			[]string{"fail pod-resources"},
		},
		"another fault of the pod": {
			[]Problem{pod, problem("memlock-limit", check.Fail, one)},
			[]string{"fail pod-resources", "fail memlock-limit"},
		},
		"enough was requested": {
			[]Problem{problem("device-allocated", check.Fail, h0)},
			[]string{"fail device-allocated"},
		},
	} {
		left := fold(test.problems, f.unrequested)
		if diff := cmp.Diff(test.want, checksOf(Diagnosis{Problems: left})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if len(test.want) == 1 && len(test.problems) == 2 && len(left[0].Consequences) != 1 {
			t.Errorf("%s: it has no consequences", name)
		}
	}
}

// A difference between machines is under its cause, whichever of the two is more severe.
func TestFoldDifference(t *testing.T) {
	pod0, pod1, pod2 := check.PodRef("t", "0"), check.PodRef("t", "1"), check.PodRef("t", "2")
	difference := func(id check.ID, status check.Status, of check.Ref) Problem {
		p := problem(id, status)
		p.About = []check.Ref{of}
		return p
	}
	f := folder{explainedBy: fleet.Judge(nil).ExplainedBy}
	left := fold([]Problem{
		problem("rail-mtu", check.Warn, pod0), difference(fleet.MTU, check.Fail, pod0),
		problem("pf-up", check.Warn, pod1), difference(fleet.Rails, check.Fail, pod1),
		difference(fleet.Rate, check.Warn, pod1),
		problem("rate-uniform", check.Unknown, pod2), difference(fleet.Rate, check.Warn, pod2),
	}, f.difference)
	want := []string{"fail rail-mtu", "fail pf-up", "unknown rate-uniform", "warn fleet-rate"}
	if got := checksOf(Diagnosis{Problems: left}); !slices.Equal(got, want) {
		t.Errorf("left %q, want %q", got, want)
	}
	if n := len(left[1].Consequences); n != 2 {
		t.Errorf("%d differences are under the physical function", n)
	}
}

// A fault of pods is under the fault of their nodes that explains it.
func TestFoldOfNode(t *testing.T) {
	a, b := check.NodeRef("a"), check.NodeRef("b")
	pod0, pod1 := check.PodRef("t", "0"), check.PodRef("t", "1")
	f := folder{
		explainedBy: machine.Pod(host.Snapshot{}, machine.Options{}).ExplainedBy,
		nodeOf:      map[check.Ref]check.Ref{pod0: a, pod1: b},
	}
	const iommu, runtime, memlock = "iommu-passthrough", "runtime-memlock", "memlock-limit"
	for name, test := range map[string]struct {
		node, pod Problem
		want      []string
	}{
		"both nodes have it": {
			problem(iommu, check.Warn, a, b), problem(iommu, check.Fail, pod0, pod1),
			[]string{"fail iommu-passthrough"},
		},
		"only one node has it": {
			problem(iommu, check.Warn, a), problem(iommu, check.Warn, pod0, pod1),
			[]string{"warn iommu-passthrough", "warn iommu-passthrough"},
		},
		"the pod's limit is the node's": {
			problem(runtime, check.Fail, a), problem(memlock, check.Fail, pod0),
			[]string{"fail runtime-memlock"},
		},
		"the node's limit is unknown": {
			problem(runtime, check.Unknown, a), problem(memlock, check.Fail, pod0),
			[]string{"unknown runtime-memlock", "fail memlock-limit"},
		},
		"unrelated faults": {
			problem(runtime, check.Fail, a), problem("gid-usable", check.Fail, pod0),
			[]string{"fail runtime-memlock", "fail gid-usable"},
		},
	} {
		left := fold([]Problem{test.node, test.pod}, f.ofNode)
		if got := checksOf(Diagnosis{Problems: left}); !slices.Equal(got, test.want) {
			t.Errorf("%s: left %q, want %q", name, got, test.want)
		}
	}
}

// A link that goes down with its card is under the fault of the card.
func TestFoldLinkOfNode(t *testing.T) {
	pod, node := check.PodRef("t", "0"), check.NodeRef("a")
	f := folder{
		explainedBy: machine.Watch(host.Snapshot{}, host.Snapshot{}).ExplainedBy,
		nodeOf:      map[check.Ref]check.Ref{pod: node},
	}
	link := problem(machine.LinkStable, check.Fail, pod)
	left := fold([]Problem{link, problem(machine.PhysicalUp, check.Fail, node)}, f.ofNode)
	if len(left) != 1 || left[0].Check != machine.PhysicalUp || len(left[0].Consequences) != 1 {
		t.Errorf("%+v", left)
	}
	if left := fold([]Problem{link, problem(machine.RuntimeMemlock, check.Fail, node)}, f.ofNode); len(left) != 2 {
		t.Errorf("%+v", left)
	}
}
