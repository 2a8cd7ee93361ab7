package controlplane_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/railhead/railhead/lab/controlplane"
)

// TestKilledServer kills the API server in the middle of a rollout and starts it again: everything goes on.
func TestKilledServer(t *testing.T) {
	c := shared.Client()
	maxUnavailable(t, 3)
	mc := machineConfig("99-worker-interrupted", "3.2.0", "panic=90")
	create(t, c, mc)
	eventually(t, "the first worker is done", func() error {
		if s := workers(t).Status; s.UpdatedMachineCount == 0 || s.UpdatedMachineCount == s.MachineCount {
			return fmt.Errorf("%d of %d updated", s.UpdatedMachineCount, s.MachineCount)
		}
		return nil
	})
	shared.KillAPIServer()
	if err := c.List(t.Context(), &corev1.NodeList{}); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("the server is killed, and says: %v", err)
	}
	if err := shared.RestartAPIServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	rolledOut(t, mc.Name, true)
	t.Logf("rollout ended %s after the restart", time.Since(start).Round(time.Second))
	dev := project(t, shared, "restarted")
	create(t, dev, training("restarted", "train", 1, nil))
	eventually(t, "a pod runs", func() error { return running(t.Context(), dev, "restarted", "train-0") })
	if err := c.Delete(t.Context(), mc); err != nil {
		t.Fatal(err)
	}
	rolledOut(t, mc.Name, false)
}

// TestServersAlone is the smallest control plane: two programs, no controllers, no ServiceAccounts.
func TestServersAlone(t *testing.T) {
	p, err := controlplane.Start(t.Context(), controlplane.Options{})
	if err != nil {
		t.Fatal(err)
	}
	stopped := false
	t.Cleanup(func() {
		if !stopped {
			_ = p.Stop()
		}
	})
	c := p.Client()
	create(t, c, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "kept"},
	}, pod("default", "alone"))
	for range 2 {
		p.KillAPIServer()
		if err := p.RestartAPIServer(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := c.Get(t.Context(), client.ObjectKey{
			Namespace: "default",
			Name:      "kept",
		}, &corev1.ConfigMap{}); err != nil {
			t.Errorf("not kept: %v", err)
		}
	}
	if err := p.Stop(); err != nil {
		t.Error(err)
	}
	stopped = true
	if _, err := os.Stat(p.Dir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is left behind: %v", p.Dir(), err)
	}
	if err := c.List(t.Context(), &corev1.NodeList{}); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("the control plane is stopped, and says: %v", err)
	}
}

// TestStartFails: the error has what the program said, and nothing is left behind.
func TestStartFails(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/etcd", []byte("not a folder"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := controlplane.Start(t.Context(), controlplane.Options{Dir: dir})
	if err == nil || !strings.Contains(err.Error(), "etcd ended: ") ||
		!strings.Contains(err.Error(), "not a directory") {
		t.Errorf("got %v", err)
	}
}
