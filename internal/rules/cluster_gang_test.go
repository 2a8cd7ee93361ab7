package rules

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
)

func TestPatients(t *testing.T) {
	notebook := cluster.Pod{Namespace: "train", Name: "notebook", Node: "gpu-0", Requests: cluster.Resources{"nvidia.com/gpu": 1}, Containers: []cluster.Container{{Name: "a", Running: true}}}
	for name, test := range map[string]struct {
		change       func(*cluster.State)
		look, passed []string
	}{
		"a job with rails": {look: []string{"h-kim-0", "h-kim-1"}},
		"a job that forgot to ask, and a notebook": {
			change: func(s *cluster.State) {
				alone(s)
				s.Pods = append(s.Pods, notebook)
			},
			look: []string{"h-kim-0", "h-kim-1"}, passed: []string{"notebook"},
		},
		"replicas that serve, and one that ended": {
			change: func(s *cluster.State) {
				alone(s)
				podOf(s, "h-kim-0").Labels, podOf(s, "h-kim-1").Phase = nil, "Succeeded"
			},
			passed: []string{"h-kim-0"},
		},
		"groups of a LeaderWorkerSet that are one pod each": {
			change: func(s *cluster.State) {
				alone(s)
				for i, name := range []string{"h-kim-0", "h-kim-1"} {
					podOf(s, name).Labels = map[string]string{"leaderworkerset.sigs.k8s.io/name": "h-kim", "leaderworkerset.sigs.k8s.io/group-index": string(rune('0' + i))}
				}
			},
			passed: []string{"h-kim-0", "h-kim-1"},
		},
		"of other namespaces, and without GPUs": {
			change: func(s *cluster.State) {
				for _, name := range []string{"h-kim-0", "h-kim-1"} {
					podOf(s, name).Annotations, podOf(s, name).Requests = nil, cluster.Resources{"cpu": 1000}
				}
				elsewhere := notebook
				elsewhere.Namespace = "other"
				s.Pods = append(s.Pods, elsewhere)
			},
		},
	} {
		s := training()
		if test.change != nil {
			test.change(&s)
		}
		names := func(pods []cluster.Pod) (all []string) {
			for _, p := range pods {
				all = append(all, p.Name)
			}
			return all
		}
		look, passed := Patients(s, "train")
		if diff := cmp.Diff([][]string{test.look, test.passed}, [][]string{names(look), names(passed)}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestFoldAsked: that a pod was given nothing is under what it did not ask for, and stands where it asked.
func TestFoldAsked(t *testing.T) {
	of := func(id check.ID, machines ...string) Problem {
		return Problem{Finding: check.Finding{Check: id, Status: check.Fail, Summary: "it"}, Machines: machines}
	}
	job := Problem{Finding: check.Finding{Check: RDMARequested, Status: check.Fail, Subject: "job/train/h"}}
	pod := Problem{Finding: check.Finding{Check: PodResources, Status: check.Fail, Subject: "pod/train/one"}}
	gangs := []gang{{name: "h", pods: []cluster.Pod{{Namespace: "train", Name: "h-0"}, {Namespace: "train", Name: "h-1"}}}}
	for name, test := range map[string]struct {
		problems []Problem
		want     []string
	}{
		"a job":                       {[]Problem{job, of("device-allocated", "pod/train/h-0", "pod/train/h-1")}, []string{"fail rdma-requested"}},
		"a job and another pod":       {[]Problem{job, of("device-allocated", "pod/train/h-0", "pod/train/x")}, []string{"fail rdma-requested", "fail device-allocated"}},
		"one pod of its networks":     {[]Problem{of("uverbs-openable", "pod/train/one"), pod}, []string{"fail pod-resources"}},
		"another fault of the pod":    {[]Problem{pod, of("memlock-limit", "pod/train/one")}, []string{"fail pod-resources", "fail memlock-limit"}},
		"nobody asked for too little": {[]Problem{of("device-allocated", "pod/train/h-0")}, []string{"fail device-allocated"}},
	} {
		d := diagnosing{problems: test.problems}
		d.foldAsked(gangs)
		if diff := cmp.Diff(test.want, checksOf(Diagnosis{Problems: d.problems})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if len(test.want) == 1 && len(test.problems) == 2 && len(d.problems[0].Consequences) != 1 {
			t.Errorf("%s: nothing is under it", name)
		}
	}
}
