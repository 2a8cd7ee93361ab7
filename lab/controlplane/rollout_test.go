package controlplane_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	machineconfigv1 "github.com/openshift/api/machineconfiguration/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/railhead/railhead/lab/controlplane/scheme"
)

const (
	mco    = "machineconfiguration.openshift.io/"
	worker = "node-role.kubernetes.io/worker"
)

func machineConfig(name, ignition string, kernelArguments ...string) *machineconfigv1.MachineConfig {
	return &machineconfigv1.MachineConfig{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{mco + "role": "worker"}},
		Spec: machineconfigv1.MachineConfigSpec{
			KernelArguments: kernelArguments,
			Config:          runtime.RawExtension{Raw: fmt.Appendf(nil, `{"ignition":{"version":%q}}`, ignition)},
		},
	}
}

func workers(t *testing.T) *machineconfigv1.MachineConfigPool {
	t.Helper()
	pool := &machineconfigv1.MachineConfigPool{}
	if err := shared.Client().Get(t.Context(), client.ObjectKey{Name: "worker"}, pool); err != nil {
		t.Fatal(err)
	}
	return pool
}

// maxUnavailable sets how many workers may be away at once.
func maxUnavailable(t *testing.T, n int32) {
	t.Helper()
	pool := workers(t)
	before := pool.DeepCopy()
	most := intstr.FromInt32(n)
	pool.Spec.MaxUnavailable = &most
	if err := shared.Client().Patch(t.Context(), pool, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
}

// condition returns the message of a condition of the worker pool, where it is true.
func condition(t *testing.T, kind machineconfigv1.MachineConfigPoolConditionType) (string, bool) {
	t.Helper()
	for _, c := range workers(t).Status.Conditions {
		if c.Type == kind {
			return c.Message, c.Status == corev1.ConditionTrue
		}
	}
	return "", false
}

// rolledOut waits until the pool has a configuration with this source, or without it, on all nodes.
func rolledOut(t *testing.T, source string, with bool) {
	t.Helper()
	eventually(t, "rollout", func() error {
		s := workers(t).Status
		has := slices.ContainsFunc(s.Configuration.Source,
			func(r corev1.ObjectReference) bool { return r.Name == source })
		if _, updated := condition(t, machineconfigv1.MachineConfigPoolUpdated); !updated || has != with {
			return fmt.Errorf("%d of %d updated, %d degraded, %s in it: %v", s.UpdatedMachineCount,
				s.MachineCount, s.DegradedMachineCount, source, has)
		}
		return nil
	})
}

// away watches the workers and returns a function that ends the watch and says how many were away at once at most.
func away(t *testing.T) (most func() int) {
	t.Helper()
	c, err := client.NewWithWatch(shared.Admin(), client.Options{Scheme: scheme.New()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	w, err := c.Watch(ctx, &corev1.NodeList{}, client.HasLabels{worker})
	if err != nil {
		t.Fatal(err)
	}
	result := make(chan int, 1)
	go func() {
		gone, most := map[string]bool{}, 0
		for e := range w.ResultChan() {
			if n, ok := e.Object.(*corev1.Node); ok {
				gone[n.Name] = n.Spec.Unschedulable ||
					n.Annotations[mco+"currentConfig"] != n.Annotations[mco+"desiredConfig"]
				now := 0
				for _, g := range gone {
					if g {
						now++
					}
				}
				most = max(most, now)
			}
		}
		result <- most
	}()
	return func() int { stop(); w.Stop(); return <-result }
}

func TestRollout(t *testing.T) {
	maxUnavailable(t, 5)
	most := away(t)
	mc := machineConfig("99-worker-iommu", "3.2.0", "iommu=pt", "intel_iommu=on")
	create(t, shared.Client(), mc)
	rolledOut(t, mc.Name, true)
	if n := most(); n < 2 || n > 5 {
		t.Errorf("up to %d workers were away at once, allowed are 5", n)
	}
	var rendered machineconfigv1.MachineConfig
	if err := shared.Client().Get(t.Context(), client.ObjectKey{
		Name: workers(t).Status.Configuration.Name,
	}, &rendered); err != nil {
		t.Fatal(err)
	}
	if got := rendered.Spec.KernelArguments; !slices.Equal(got, mc.Spec.KernelArguments) {
		t.Errorf("kernel arguments %q", got)
	}
	if err := shared.Client().Delete(t.Context(), mc); err != nil {
		t.Fatal(err)
	}
	rolledOut(t, mc.Name, false)
}

func TestRenderDegraded(t *testing.T) {
	mc := machineConfig("99-worker-future", "9.9.9")
	create(t, shared.Client(), mc)
	eventually(t, "RenderDegraded", func() error {
		message, degraded := condition(t, machineconfigv1.MachineConfigPoolRenderDegraded)
		if !degraded || !strings.Contains(message, "parsing Ignition config failed: unknown version") {
			return fmt.Errorf("%v: %s", degraded, message)
		}
		return nil
	})
	if err := shared.Client().Delete(t.Context(), mc); err != nil {
		t.Fatal(err)
	}
	eventually(t, "no longer RenderDegraded", func() error {
		if message, degraded := condition(t, machineconfigv1.MachineConfigPoolRenderDegraded); degraded {
			return fmt.Errorf("still: %s", message)
		}
		return nil
	})
}

func TestNodeDegraded(t *testing.T) {
	const why = `unexpected on-disk state validating against rendered-worker: content mismatch for file ` +
		`"/etc/crio/crio.conf.d/99-rdma"`
	maxUnavailable(t, 5)
	shared.Daemon.Fail("cpu-03", why)
	mc := machineConfig("99-worker-fails", "3.2.0", "panic=30")
	create(t, shared.Client(), mc)
	eventually(t, "the pool is degraded, the other nodes are done", func() error {
		message, degraded := condition(t, machineconfigv1.MachineConfigPoolDegraded)
		want := fmt.Sprintf("Node cpu-03 is reporting: %q", why)
		s := workers(t).Status
		if !degraded || message != want || s.UpdatedMachineCount != s.MachineCount-1 {
			return fmt.Errorf("%v, %d of %d updated: %s", degraded, s.UpdatedMachineCount, s.MachineCount, message)
		}
		return nil
	})
	if err := shared.Daemon.Heal(t.Context(), "cpu-03"); err != nil {
		t.Fatal(err)
	}
	rolledOut(t, mc.Name, true)
	if err := shared.Client().Delete(t.Context(), mc); err != nil {
		t.Fatal(err)
	}
	rolledOut(t, mc.Name, false)
}

// TestDrainBlocked: the real drain controller evicts by the eviction API, so a PodDisruptionBudget holds a node up.
func TestDrainBlocked(t *testing.T) {
	const ns = "blocked"
	dev := project(t, shared, ns)
	maxUnavailable(t, 5)
	one := intstr.FromInt32(1)
	labels := map[string]string{"app": "keep"}
	budget := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "keep"},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: &one,
			Selector:     &metav1.LabelSelector{MatchLabels: labels},
		},
	}
	create(t, shared.Client(), budget)
	create(t, dev, pod(ns, "keep", func(p *corev1.Pod) {
		p.Labels = labels
		p.Spec.NodeSelector = map[string]string{"kubernetes.io/hostname": "cpu-07"}
	}))
	eventually(t, "the pod runs", func() error { return running(t.Context(), dev, ns, "keep") })
	mc := machineConfig("99-worker-blocked", "3.2.0", "panic=60")
	create(t, shared.Client(), mc)
	eventually(t, "all nodes but one are done", func() error {
		var node corev1.Node
		if err := dev.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "keep"}, &corev1.Pod{}); err != nil {
			t.Fatalf("evicted: %v", err)
		}
		if err := shared.Client().Get(t.Context(), client.ObjectKey{Name: "cpu-07"}, &node); err != nil {
			return err
		}
		s := workers(t).Status
		a := node.Annotations
		if s.UpdatedMachineCount != s.MachineCount-1 || !node.Spec.Unschedulable ||
			a[mco+"desiredDrain"] == a[mco+"lastAppliedDrain"] {
			return fmt.Errorf("%d of %d updated, cpu-07 %v", s.UpdatedMachineCount, s.MachineCount, a)
		}
		return nil
	})
	if err := shared.Client().Delete(t.Context(), budget); err != nil {
		t.Fatal(err)
	}
	rolledOut(t, mc.Name, true)
	if err := shared.Client().Delete(t.Context(), mc); err != nil {
		t.Fatal(err)
	}
	rolledOut(t, mc.Name, false)
}
