package rules

import (
	"testing"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
)

// TestWholeJobs: only a job of which every running pod was examined lost the ends that are not found.
func TestWholeJobs(t *testing.T) {
	pod := func(name, phase string) cluster.Pod {
		return cluster.Pod{Namespace: "train", Name: name, Owner: "Job/llama", Phase: phase}
	}
	machine := func(name, unreached string) Judged {
		return Judge(Machine{Ref: check.PodRef("train", name), Group: "Job/llama", Unreached: unreached})
	}
	both := []cluster.Pod{pod("a", "Running"), pod("b", "Running")}
	for name, c := range map[string]struct {
		pods     []cluster.Pod
		machines []Judged
		want     bool
	}{
		"all":             {both, []Judged{machine("a", ""), machine("b", "")}, true},
		"one of two":      {both, []Judged{machine("a", "")}, false},
		"one unreached":   {both, []Judged{machine("a", ""), machine("b", "no answer")}, false},
		"one is finished": {[]cluster.Pod{both[0], pod("b", "Succeeded")}, []Judged{machine("a", "")}, true},
	} {
		got := wholeJobs(Case{State: cluster.State{Pods: c.pods}, Machines: c.machines})
		if got["Job/llama"] != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
