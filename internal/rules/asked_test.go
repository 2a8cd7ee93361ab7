package rules

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
	clusterrules "github.com/railhead/railhead/internal/rules/cluster"
	"github.com/railhead/railhead/internal/rules/machine"
)

// TestFoldAsked: that a pod was given nothing is under what it did not ask for, and stands where it asked.
func TestFoldAsked(t *testing.T) {
	of := func(id check.ID, machines ...check.Ref) Problem {
		return Problem{Finding: check.Finding{Check: id, Status: check.Fail, Summary: "it"}, Machines: machines}
	}
	job := Problem{Finding: check.Finding{Check: clusterrules.RDMARequested, Status: check.Fail, Subject: check.Ref{Kind: check.Job, Namespace: "train", Name: "h"},
		About: []check.Ref{check.PodRef("train", "h-0"), check.PodRef("train", "h-1")}}}
	pod := Problem{Finding: check.Finding{Check: clusterrules.PodResources, Status: check.Fail, Subject: check.PodRef("train", "one")}}
	h0, h1, one, x := check.PodRef("train", "h-0"), check.PodRef("train", "h-1"), check.PodRef("train", "one"), check.PodRef("train", "x")
	f := folder{explainedBy: machine.Pod(host.Snapshot{}, machine.Options{}).ExplainedBy}
	for name, test := range map[string]struct {
		problems []Problem
		want     []string
	}{
		"a job":                       {[]Problem{job, of("device-allocated", h0, h1)}, []string{"fail rdma-requested"}},
		"a job and another pod":       {[]Problem{job, of("device-allocated", h0, x)}, []string{"fail rdma-requested", "fail device-allocated"}},
		"one pod of its networks":     {[]Problem{of("uverbs-openable", one), pod}, []string{"fail pod-resources"}},
		"another fault of the pod":    {[]Problem{pod, of("memlock-limit", one)}, []string{"fail pod-resources", "fail memlock-limit"}},
		"nobody asked for too little": {[]Problem{of("device-allocated", h0)}, []string{"fail device-allocated"}},
	} {
		left := f.unrequested(test.problems)
		if diff := cmp.Diff(test.want, checksOf(Diagnosis{Problems: left})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if len(test.want) == 1 && len(test.problems) == 2 && len(left[0].Consequences) != 1 {
			t.Errorf("%s: nothing is under it", name)
		}
	}
}
