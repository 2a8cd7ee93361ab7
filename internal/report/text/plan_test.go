package text

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
)

// TestPlan: objects with the same change share a line, and reboots stand out.
func TestPlan(t *testing.T) {
	deletion := func(kind, namespace, name string) plan.Change {
		return plan.Deletion(cluster.Object{Kind: kind, Namespace: namespace, Name: name}, "ours")
	}
	p := plan.Plan{
		Title: "Undo",
		Steps: []plan.Step{
			{Title: "Delete", Changes: []plan.Change{
				deletion("Role", "train", "a"), deletion("Role", "train", "b"), deletion("Role", "other", "c"),
			}},
			{Title: "Roll out", Disruption: plan.Disruption{Reboots: []plan.Reboot{{Pool: "gpu", Nodes: []string{"n"}}}}},
		},
		Notes: []string{"The namespace stays."},
	}
	const want = `Plan: Undo
  1. Delete
     delete 2 Roles train/a, b  (ours)
     delete Role other/c  (ours)
  2. Roll out
     REBOOTS 1 node of pool gpu, once each, 1 at a time: n
     EVICTS the pods of each node before it reboots
  Note: The namespace stays.
`
	var got strings.Builder
	if Plan(&got, p); got.String() != want {
		t.Error(cmp.Diff(want, got.String()))
	}
	got.Reset()
	if Plan(&got, plan.Plan{Title: "Undo"}); !strings.Contains(got.String(), "Nothing to do: this is already done.") {
		t.Error(got.String())
	}
}
