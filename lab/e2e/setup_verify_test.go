package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/lab/kubelet"
)

// snapshot is what railhead-pod would have taken on a node that boots with passthrough, where containers may lock so much.
func snapshot(memlock host.Limit) string {
	text, err := json.Marshal(host.Snapshot{
		SchemaVersion: host.SchemaVersion, Node: host.Know("first"), Cmdline: host.Know("root=/dev/sda intel_iommu=on iommu=pt"),
		Limits: host.Limits{MemlockSoft: host.Know(memlock), MemlockHard: host.Know(memlock)},
	})
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// TestVerifyFirst: one node reboots and is looked at; what is wrong there stops the rollout before the others.
func TestVerifyFirst(t *testing.T) {
	takenBack(t)
	a := admin(t, openShift)
	var nodes []string
	for name := range bootIDs(t) {
		if !strings.HasPrefix(name, "master-") {
			nodes = append(nodes, name)
		}
	}
	var lockable atomic.Uint64
	startKubelet(t, func(kubelet.Container) string { return snapshot(host.Limit(lockable.Load())) }, nodes...)
	probesEnd(t)
	first := []string{"setup", "cluster", "--verify-first", "--yes", "--pod-binary=amd64=" + podBinary}
	seen := watchNodes(t)

	lockable.Store(65536)
	r := a.ends(t, 1, first...).silent(t)
	r.says(t, "Let one node of pool worker reboot", "the runtime lets containers lock 65536 bytes of memory, not all", "the rollout stays paused; 'railhead setup rollback' takes it back")
	inHands(t, true)
	if s := workers(t).Status; s.UpdatedMachineCount != 1 {
		t.Errorf("%d nodes have the new configuration", s.UpdatedMachineCount)
	}
	nothingLeft(t)
	a.does(t, "setup", "status").prints(t, "paused by railhead")

	lockable.Store(uint64(host.Unlimited))
	a.does(t, first...).silent(t).says(t, ": as it should be", "worker: all 13 nodes done")
	inHands(t, false)
	if most := workers(t).Spec.MaxUnavailable; most.IntValue() != atOnce {
		t.Errorf("maxUnavailable is %s", most)
	}
	nothingLeft(t)
	seen().eachOnce(t)
}

// nothingLeft wants no pod that looked at a node, nor what it was made of.
func nothingLeft(t *testing.T) {
	t.Helper()
	eventually(t, "the probe is gone", func() error {
		var pods corev1.PodList
		var parts corev1.ConfigMapList
		for _, list := range []client.ObjectList{&pods, &parts} {
			if err := openShift.Client().List(t.Context(), list, client.InNamespace("default"), client.HasLabels{"app.kubernetes.io/managed-by"}); err != nil {
				return err
			}
		}
		if n := len(pods.Items) + len(parts.Items); n > 0 {
			return fmt.Errorf("%d pods, %d ConfigMaps", len(pods.Items), len(parts.Items))
		}
		return nil
	})
}

// probesEnd lets pods that look at a node end well, as a command that is done does; on these nodes pods run for ever.
func probesEnd(t *testing.T) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for tick := time.Tick(50 * time.Millisecond); ; {
			select {
			case <-ctx.Done():
				return
			case <-tick:
			}
			var pods corev1.PodList
			if openShift.Client().List(ctx, &pods, client.MatchingLabels{"app.kubernetes.io/component": "probe"}) != nil {
				continue
			}
			for _, p := range pods.Items {
				if p.Status.Phase == corev1.PodRunning {
					_ = openShift.Client().Status().Patch(ctx, &p, client.RawPatch(types.MergePatchType, []byte(`{"status":{"phase":"Succeeded"}}`)))
				}
			}
		}
	}()
	t.Cleanup(func() { stop(); <-ended })
}
