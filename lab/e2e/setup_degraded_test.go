package e2e_test

import (
	"fmt"
	"testing"

	machineconfigv1 "github.com/openshift/api/machineconfiguration/v1"
	corev1 "k8s.io/api/core/v1"
)

// TestSetupDegraded: a node that cannot take the configuration is named, with the reason that its daemon gives.
func TestSetupDegraded(t *testing.T) {
	const why = `unexpected on-disk state validating against rendered-worker: content mismatch for file "/etc/crio/crio.conf.d/50-site-limits"`
	takenBack(t)
	a := admin(t, openShift)
	openShift.Daemon.Fail("cpu-03", why)
	r := a.ends(t, 1, "setup", "cluster", "--yes").silent(t)
	r.says(t, "node cpu-03 is Degraded: "+why, "oc debug node/cpu-03", "railhead: it will not get there by itself")
	inHands(t, false)
	eventually(t, "the other nodes are done", func() error {
		if s := workers(t).Status; s.UpdatedMachineCount != s.MachineCount-1 {
			return fmt.Errorf("%d of %d", s.UpdatedMachineCount, s.MachineCount)
		}
		return nil
	})
	r = a.ends(t, 1, "setup", "status")
	r.prints(t, "12 of 13 nodes done", "cpu-03", "Degraded")
	r.says(t, "node cpu-03 is Degraded: "+why)
	if err := openShift.Daemon.Heal(t.Context(), "cpu-03"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the daemon goes on", func() error {
		if s := conditionOf(t, machineconfigv1.MachineConfigPoolDegraded); s == corev1.ConditionTrue {
			return fmt.Errorf("still degraded")
		}
		return nil
	})
	a.does(t, "setup", "status", "--follow").silent(t).says(t, "worker: all 13 nodes done")
	a.does(t, "setup", "cluster", "--yes").says(t, "Nothing to do")
}
