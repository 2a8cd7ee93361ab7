package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/lab/controlplane/kubelet"
	"github.com/railhead/railhead/lab/controlplane/openshift"
)

// snapshot returns a snapshot of a node that boots with passthrough and has such devices, where containers may lock so
// much.
func snapshot(memlock host.Limit, devices ...host.Device) string {
	text, err := json.Marshal(host.Snapshot{
		SchemaVersion: host.SchemaVersion, Node: host.Know("first"), Cmdline: host.Know("root=/dev/sda intel_iommu=on iommu=pt"),
		Devices: devices, Limits: host.Limits{MemlockSoft: host.Know(memlock), MemlockHard: host.Know(memlock)},
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
	var cards atomic.Bool
	startKubelet(t, func(kubelet.Container) string {
		if !cards.Load() {
			return snapshot(host.Limit(lockable.Load()))
		}
		passed := host.Function{Present: true, IOMMUGroup: host.Know(12), IOMMUType: host.Know("identity")}
		return snapshot(host.Limit(lockable.Load()), host.Device{Name: "mlx5_0", Function: host.Know(passed)})
	}, nodes...)
	images := probesEnd(t)
	first := []string{"setup", "cluster", "--verify-first", "--yes", "--pod-binary=amd64=" + podBinary}
	seen := watchNodes(t)

	a.ends(t, 1, first...).silent(t).says(t, "Let one node of pool worker reboot", "has no pod of the machine-config-daemon", "the server has no image streams", "set one with --verify-image", "so the rollout stays paused",
		"Try again with 'railhead setup cluster --verify-first --verify-image IMAGE'")
	nothingLeft(t)
	daemons(t)
	lockable.Store(65536)
	r := a.ends(t, 1, first...).silent(t)
	r.says(t, "the container runtime limits locked memory to 65536 bytes", "the rollout stays paused; undo it with 'railhead setup rollback'")
	inHands(t, true)
	if s := workers(t).Status; s.UpdatedMachineCount != 1 {
		t.Errorf("%d nodes have the new configuration", s.UpdatedMachineCount)
	}
	nothingLeft(t)
	a.does(t, "setup", "status").prints(t, "paused by railhead")

	interrupted := a
	interrupted.heard = func(line string, interrupt context.CancelFunc) {
		if strings.HasPrefix(line, "Check the node of ") {
			interrupt()
		}
	}
	r = interrupted.ends(t, 130, first...).silent(t)
	r.says(t, "Interrupted: the rollout stays paused")
	if strings.Contains(r.err, "goes on") {
		t.Errorf("stderr:\n%s", r.err)
	}
	nothingLeft(t)

	lockable.Store(uint64(host.Unlimited))
	r = a.ends(t, 3, first...).silent(t)
	r.says(t, "it saw no HCA on the node, and 2 nodes of pool worker have RDMA NICs or GPUs", "railhead setup cluster --verify-first=false",
		"--own-pool NAME", "is not conclusive: the rollout stays paused")
	inHands(t, true)
	nothingLeft(t)

	cards.Store(true)
	a.does(t, first...).silent(t).says(t, ": no fault", "worker: all 13 nodes done")
	inHands(t, false)
	if most := workers(t).Spec.MaxUnavailable; most.IntValue() != atOnce {
		t.Errorf("maxUnavailable is %s", most)
	}
	nothingLeft(t)
	seen().eachOnce(t)
	if got := images(); !slices.Equal(got, []string{release + " IfNotPresent"}) {
		t.Errorf("nodes were looked at by %q", got)
	}
}

// release is the image in which a machine-config-daemon runs.
const release = "example.invalid/openshift/release@sha256:cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc"

// daemons puts the pods of the machine-config-daemon on all nodes, as its operator does: they do nothing here.
func daemons(t *testing.T) {
	t.Helper()
	c := openShift.Client()
	labels := map[string]string{"k8s-app": "machine-config-daemon"}
	set := &appsv1.DaemonSet{
		ObjectMeta: meta(openshift.MachineConfigNamespace, "machine-config-daemon"),
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
				Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
				Containers:  []corev1.Container{{Name: "machine-config-daemon", Image: release}, {Name: "kube-rbac-proxy", Image: "example.invalid/proxy"}},
			}},
		},
	}
	create(t, c, set)
	remove(t, c, set)
	eventually(t, "a daemon on every node", func() error {
		if s := get(t, c, set).Status; s.DesiredNumberScheduled == 0 || s.CurrentNumberScheduled < s.DesiredNumberScheduled {
			return fmt.Errorf("%d of %d", s.CurrentNumberScheduled, s.DesiredNumberScheduled)
		}
		return nil
	})
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
// It returns the images and pull policies that they had, each once.
func probesEnd(t *testing.T) (images func() []string) {
	t.Helper()
	var mu sync.Mutex
	var all []string
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
				mu.Lock()
				for _, c := range append(p.Spec.InitContainers, p.Spec.Containers...) {
					all = append(all, c.Image+" "+string(c.ImagePullPolicy))
				}
				mu.Unlock()
				if p.Status.Phase == corev1.PodRunning {
					_ = openShift.Client().Status().Patch(ctx, &p, client.RawPatch(types.MergePatchType, []byte(`{"status":{"phase":"Succeeded"}}`)))
				}
			}
		}
	}()
	t.Cleanup(func() { stop(); <-ended })
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		slices.Sort(all)
		return slices.Compact(all)
	}
}
