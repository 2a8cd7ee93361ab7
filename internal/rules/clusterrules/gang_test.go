package clusterrules

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/rules/rulestest"
)

func TestCandidates(t *testing.T) {
	notebook := cluster.Pod{
		Namespace:  "train",
		Name:       "notebook",
		Node:       "gpu-0",
		Requests:   cluster.Resources{"nvidia.com/gpu": 1},
		Containers: []cluster.Container{{Name: "a", Running: true}},
	}
	for name, test := range map[string]struct {
		change       func(*cluster.State)
		look, passed []string
	}{
		"a job with rails": {look: []string{"h-kim-0", "h-kim-1"}},
		"a job without RDMA requests, and a notebook": {
			change: func(s *cluster.State) {
				rulestest.GPUsOnly(s)
				s.Pods = append(s.Pods, notebook)
			},
			look: []string{"h-kim-0", "h-kim-1"}, passed: []string{"notebook"},
		},
		"independent replicas, one of them ended": {
			change: func(s *cluster.State) {
				rulestest.GPUsOnly(s)
				rulestest.Pod(s, "h-kim-0").Labels, rulestest.Pod(s, "h-kim-1").Phase = nil, "Succeeded"
			},
			passed: []string{"h-kim-0"},
		},
		"groups of a LeaderWorkerSet that are one pod each": {
			change: func(s *cluster.State) {
				rulestest.GPUsOnly(s)
				for i, name := range []string{"h-kim-0", "h-kim-1"} {
					rulestest.Pod(s, name).Labels = map[string]string{
						"leaderworkerset.sigs.k8s.io/name":        "h-kim",
						"leaderworkerset.sigs.k8s.io/group-index": string(rune('0' + i)),
					}
				}
			},
			passed: []string{"h-kim-0", "h-kim-1"},
		},
		"pods of other namespaces, and without GPUs": {
			change: func(s *cluster.State) {
				for _, name := range []string{"h-kim-0", "h-kim-1"} {
					p := rulestest.Pod(s, name)
					p.Annotations, p.Requests = nil, cluster.Resources{"cpu": 1000}
				}
				elsewhere := notebook
				elsewhere.Namespace = "other"
				s.Pods = append(s.Pods, elsewhere)
			},
		},
	} {
		s := rulestest.Training(t)
		if test.change != nil {
			test.change(&s)
		}
		names := func(pods []cluster.Pod) (all []string) {
			for _, p := range pods {
				all = append(all, p.Name)
			}
			return all
		}
		look, passed := Candidates(s, "train")
		if diff := cmp.Diff([][]string{test.look, test.passed}, [][]string{names(look), names(passed)}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
