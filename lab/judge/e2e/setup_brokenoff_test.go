package e2e_test

import (
	"context"
	"strings"
	"testing"
)

// TestSetupBrokenOff: Ctrl-C while the pool is paused leaves it known to be railhead's, and the next run completes it.
func TestSetupBrokenOff(t *testing.T) {
	takenBack(t)
	a := admin(t, openShift)
	seen := watchNodes(t)
	broken := a
	broken.heard = func(line string, interrupt context.CancelFunc) {
		if line == "  configured MachineConfigPool worker" {
			interrupt()
		}
	}
	r := broken.ends(t, 130, "setup", "cluster", "--yes").silent(t)
	r.says(t, "Interrupted: objects written so far stay; the same command again completes the plan")
	inHands(t, true)
	a.does(t, "setup", "status").prints(t, "paused by railhead: continue with 'railhead setup cluster' or undo with 'railhead setup rollback'")
	r = a.does(t, "setup", "cluster", "--yes").silent(t)
	r.says(t, "worker: all 13 nodes done")
	if strings.Contains(r.err, "created SecurityContextConstraints") {
		t.Errorf("the SCC is made again:\n%s", r.err)
	}
	inHands(t, false)
	seen().eachOnce(t)

	t.Run("in the rollout, on the way back", func(t *testing.T) {
		seen := watchNodes(t)
		broken.heard = func(line string, interrupt context.CancelFunc) {
			if strings.Contains(line, "Working") {
				interrupt()
			}
		}
		r := broken.ends(t, 130, "setup", "rollback", "--yes").silent(t)
		r.says(t, "Stopped watching; the change continues in the cluster. Follow it with: the same command again, which continues with: Delete the security context constraint railhead-rdma")
		r = a.does(t, "setup", "rollback", "--yes").silent(t)
		r.says(t, "Pool worker is still being rolled out", "deleted SecurityContextConstraints railhead-rdma")
		a.does(t, "setup", "status", "--follow").silent(t).says(t, "worker: all 13 nodes done")
		settled(t)
		inHands(t, false)
		seen().eachOnce(t)
		if mc := rendered(t); len(mc.Spec.KernelArguments) > 0 {
			t.Errorf("kernel arguments %q", mc.Spec.KernelArguments)
		}
	})
}

// TestSetupKilledServer: the same run goes on when the API server is back, in the middle of writing and of following.
func TestSetupKilledServer(t *testing.T) {
	takenBack(t)
	a := admin(t, openShift)
	before := bootIDs(t)
	back := killedAt(t, &a, "  configured MachineConfigPool worker")
	r := a.does(t, "setup", "cluster", "--yes").silent(t)
	back()
	r.says(t, "does not answer", "trying again", "created MachineConfig "+memlockConfig, "worker: all 13 nodes done")
	inHands(t, false)
	for name, id := range bootIDs(t) {
		if rebooted := id != before[name]; rebooted == strings.HasPrefix(name, "master-") {
			t.Errorf("%s rebooted: %v", name, rebooted)
		}
	}
}
