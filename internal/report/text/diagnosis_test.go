package text

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/rules"
)

// TestWhere: the line names the machines, and the part of them.
func TestWhere(t *testing.T) {
	machines := func(n int) (all []check.Ref) {
		for i := range n {
			all = append(all, check.PodRef("train", "p-"+string(rune('0'+i))))
		}
		return all
	}
	for name, test := range map[string]struct {
		p    rules.Problem
		want string
	}{
		"the cluster": {rules.Problem{Finding: check.Finding{Subject: check.Ref{Kind: check.Cluster}}}, ""},
		"a pool": {
			rules.Problem{Finding: check.Finding{Subject: check.Named(check.Pool, "worker")}},
			"pool/worker: ",
		},
		"one pod": {
			rules.Problem{Finding: check.Finding{Subject: check.Ref{Kind: check.Pod}}, Machines: machines(1), Of: 3},
			"pod/train/p-0: ",
		},
		"a device of one pod": {
			rules.Problem{Finding: check.Finding{Subject: check.RailRef("mlx5_0:1")}, Machines: machines(1), Of: 3},
			"pod/train/p-0 mlx5_0:1: ",
		},
		"all pods": {
			rules.Problem{Finding: check.Finding{Subject: check.Ref{Kind: check.Pod}}, Machines: machines(3), Of: 3},
			"on all 3 pods: ",
		},
		"some pods": {
			rules.Problem{Finding: check.Finding{Subject: check.Ref{Kind: check.Pod}}, Machines: machines(6), Of: 40},
			"on 6 of 40 pods (p-0, p-1, p-2 and 3 more): ",
		},
		"a machine by itself": {
			rules.Problem{
				Finding:  check.Finding{Subject: check.NodeRef("a")},
				Machines: []check.Ref{check.NodeRef("a")},
				Of:       1,
			},
			"node/a: ",
		},
		"a cause without a machine": {rules.Problem{Finding: check.Finding{Subject: check.Ref{Kind: check.Pods}}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, where(test.p)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
