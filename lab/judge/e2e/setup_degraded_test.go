package e2e_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	machineconfigv1 "github.com/openshift/api/machineconfiguration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestSetupDegraded: a node that cannot take the configuration is named, with the reason that its daemon gives.
func TestSetupDegraded(t *testing.T) {
	const why = `unexpected on-disk state validating against rendered-worker: content mismatch for file "/etc/crio/crio.conf.d/50-site-limits"`
	takenBack(t)
	a := admin(t, openShift)
	openShift.Daemon.Fail("cpu-03", why)
	r := a.ends(t, 1, "setup", "cluster", "--yes", "--patience=1s").silent(t)
	r.says(t, "Waiting up to 1s for Kubernetes to retry: the rollout of pool worker is blocked: node cpu-03 is Degraded: "+why,
		"fail: node/cpu-03: the rollout of pool worker is blocked", "oc debug node/cpu-03", "railhead: it will not succeed without a fix: the error has lasted 1s; to wait longer, use --patience")
	inHands(t, false)
	eventually(t, "the other nodes are done", func() error {
		if r = a.ends(t, 1, "setup", "status"); !strings.Contains(r.out, "12 of 13 nodes done") {
			return fmt.Errorf("%s", r.out)
		}
		return nil
	})
	r.prints(t, "cpu-03", "Degraded")
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

// TestSetupPassingError: a daemon that fails and tries again with success does not end the wait.
func TestSetupPassingError(t *testing.T) {
	takenBack(t)
	a := admin(t, openShift)
	openShift.Daemon.Fail("cpu-03", "could not reach the registry mirror: i/o timeout")
	healed := false
	a.heard = func(line string, _ context.CancelFunc) {
		if strings.HasPrefix(line, "Waiting up to 10m0s for Kubernetes to retry: the rollout of pool worker is blocked: node cpu-03 is Degraded") {
			healed = openShift.Daemon.Heal(t.Context(), "cpu-03") == nil
		}
	}
	a.does(t, "setup", "cluster", "--yes").silent(t).says(t, "worker: all 13 nodes done")
	if !healed {
		t.Error("the wait was not announced")
	}
	inHands(t, false)
}

// TestRollbackDegraded: the way back from a configuration at which a node failed goes on, says who has to be
// uncordoned, and ends when somebody has: until then the machine-config-controller tells neither that node nor, one
// at a time, any other.
func TestRollbackDegraded(t *testing.T) {
	const why = "failed to run chcon: exit status 1"
	takenBack(t)
	a := admin(t, openShift)
	oneAtATime(t)
	failed := ""
	a.heard = func(line string, _ context.CancelFunc) { // the second node fails
		if name, state, _ := strings.Cut(line, "  "); failed == "" && strings.HasPrefix(state, "Working") {
			failed = next(t, name)
			openShift.Daemon.Fail(failed, why)
		}
	}
	r := a.ends(t, 1, "setup", "cluster", "--yes", "--patience=1s").silent(t)
	r.says(t, "node "+failed+" is Degraded: "+why, "railhead setup rollback")
	a.heard = nil
	a.ends(t, 1, "setup", "rollback", "--yes", "--patience=1s").silent(t).says(t,
		"warn: pool/worker: pool worker is degraded", "the new configuration is rendered",
		"the rollout of pool worker is blocked: it waits for cordoned nodes: "+failed, "oc adm uncordon "+failed,
		"railhead: it will not succeed without a fix: the error has lasted 1s")
	inHands(t, false)
	a.ends(t, 1, "setup", "status").says(t, "oc adm uncordon "+failed)

	a.heard = func(line string, _ context.CancelFunc) {
		if strings.Contains(line, "oc adm uncordon "+failed) {
			if err := patchNode(t.Context(), failed, `{"spec":{"unschedulable":false}}`); err != nil {
				t.Error(err)
			}
		}
	}
	a.does(t, "setup", "status", "--follow").silent(t).says(t, "worker: all 13 nodes done")
	a.heard = nil
	a.does(t, "setup", "rollback", "--yes").silent(t).says(t, "deleted SecurityContextConstraints railhead-rdma")
	settled(t)
	if mc := rendered(t); len(mc.Spec.KernelArguments) > 0 {
		t.Errorf("kernel arguments %q", mc.Spec.KernelArguments)
	}
	if err := openShift.Daemon.Heal(t.Context(), failed); err != nil {
		t.Fatal(err)
	}
}

// oneAtATime lets one worker be away at once, until the test ends.
func oneAtATime(t *testing.T) {
	t.Helper()
	most := func(n int32) func(*machineconfigv1.MachineConfigPool) {
		many := intstr.FromInt32(n)
		return func(p *machineconfigv1.MachineConfigPool) { p.Spec.MaxUnavailable = &many }
	}
	patchWorkers(t, most(1))
	t.Cleanup(func() {
		pool := &machineconfigv1.MachineConfigPool{ObjectMeta: meta("", "worker")}
		before := pool.DeepCopy()
		most(atOnce)(pool)
		if err := openShift.Client().Patch(context.Background(), pool, client.MergeFrom(before)); err != nil {
			t.Error(err)
		}
	})
}

// next is a worker that is none of the first.
func next(t *testing.T, first string) string {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(bootIDs(t))) {
		if name != first && !strings.HasPrefix(name, "master-") {
			return name
		}
	}
	t.Fatal("there is one worker only")
	return ""
}
