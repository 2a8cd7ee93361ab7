package cli

import (
	"errors"
	"testing"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/exit"
	"github.com/railhead/railhead/internal/workload"
)

// TestStatus has the exit codes for jobs in the situations in which not all is known or ready.
func TestStatus(t *testing.T) {
	labels := map[string]string{workload.LabelInstance: "h-kim", workload.LabelComponent: workload.ComponentJob}
	ours := cluster.Pod{Namespace: "train", Name: "h-kim-0", Labels: labels, Ready: true, Phase: "Running"}
	other := cluster.Pod{Namespace: "train", Name: "h-kim-x", Owner: "Job/h-kim", Ready: true, Phase: "Running"}
	of := func(wanted int) []cluster.Workload {
		return []cluster.Workload{{Kind: "Job", Namespace: "train", Name: "h-kim", Size: 2, Wanted: wanted}}
	}
	unread := []cluster.Problem{{Kind: cluster.Objects, Err: "forbidden", Forbidden: true}}
	for name, c := range map[string]struct {
		s          cluster.State
		wanted, of int
		code       exit.Code
	}{
		"all pods are ready":                      {cluster.State{Pods: []cluster.Pod{ours}}, 1, 1, exit.OK},
		"its size may not be read":                {cluster.State{Pods: []cluster.Pod{ours}, Problems: unread}, 1, 1, exit.Unknown},
		"another's Job without pods":              {cluster.State{Workloads: of(2)}, 2, 0, exit.Fault},
		"another's Job that lacks a pod":          {cluster.State{Workloads: of(2), Pods: []cluster.Pod{other}}, 2, 1, exit.Fault},
		"another's Job that is suspended":         {cluster.State{Workloads: of(0)}, 0, 0, exit.OK},
		"another's Job with one completion to go": {cluster.State{Workloads: of(1), Pods: []cluster.Pod{other}}, 1, 1, exit.OK},
	} {
		c.s.Read = []cluster.Kind{cluster.Pods, cluster.Objects, cluster.Workloads}
		ref := workload.Ref{Name: "h-kim"}
		f, err := workload.Lookup(c.s, ref, "train")
		if err != nil {
			t.Fatal(err)
		}
		got := newJobStatus(jobState{ref: ref, ns: "train", state: c.s, Family: f})
		var code exit.Error
		if !errors.As(got.verdict(), &code) {
			code.Code = exit.OK
		}
		if got.Wanted != c.wanted || len(got.Pods) != c.of || code.Code != c.code {
			t.Errorf("%s: %d of %d pods, exit code %d; want %d of %d, %d",
				name, len(got.Pods), got.Wanted, code.Code, c.of, c.wanted, c.code)
		}
	}
}
