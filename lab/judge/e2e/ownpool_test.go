package e2e_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	machineconfigv1 "github.com/openshift/api/machineconfiguration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestOwnPool: only the nodes with GPUs get a pool of their own, and only they reboot, once; rollback reboots them
// once more and leaves nothing.
func TestOwnPool(t *testing.T) {
	takenBack(t)
	a, c := admin(t, openShift), openShift.Client()
	labelled := func() map[string]int {
		var nodes corev1.NodeList
		if err := c.List(t.Context(), &nodes); err != nil {
			t.Fatal(err)
		}
		names := map[string]int{}
		for _, n := range nodes.Items {
			if _, has := n.Labels["node-role.kubernetes.io/rails"]; has {
				names[n.Name] = 1
			}
		}
		return names
	}
	before := workers(t).Status.MachineCount
	a.does(t, "setup", "cluster", "--own-pool", "rails", "--dry-run=client").silent(t).
		says(t, "Create pool rails", "REBOOTS 2 nodes of pool rails, once each")
	seen := watchNodes(t)
	a.does(t, "setup", "cluster", "--own-pool", "rails", "--yes").silent(t).says(t, "created MachineConfigPool rails", "rails: all 2 nodes done")
	moved := labelled()
	if got := seen().boots; len(moved) != 2 || !maps.Equal(got, moved) {
		t.Errorf("reboots %v, nodes of the pool %v", got, slices.Collect(maps.Keys(moved)))
	}
	settled(t)
	a.does(t, "setup", "status", "--follow")
	a.does(t, "setup", "cluster", "--own-pool", "rails", "--yes").silent(t).says(t, "Nothing to do")
	if out := a.does(t, "setup", "status").out; !strings.Contains(out, "99-rails-rdma-memlock") {
		t.Errorf("status: %s", out)
	}
	seen = watchNodes(t)
	a.does(t, "setup", "rollback", "--yes").silent(t).says(t, "Move the nodes of pool rails back to pool worker", "deleted MachineConfigPool rails")
	if got := seen().boots; !maps.Equal(got, moved) {
		t.Errorf("reboots of the rollback %v", got)
	}
	settled(t)
	pool := &machineconfigv1.MachineConfigPool{ObjectMeta: meta("", "rails")}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(pool), pool); !apierrors.IsNotFound(err) {
		t.Errorf("pool rails: %v", err)
	}
	if left := labelled(); len(left) > 0 || workers(t).Status.MachineCount != before {
		t.Errorf("nodes with the label %v, %d nodes in pool worker", left, workers(t).Status.MachineCount)
	}
}
