package controlplane_test

import (
	"fmt"
	"testing"

	"k8s.io/client-go/discovery"

	"github.com/railhead/railhead/lab/controlplane"
	"github.com/railhead/railhead/lab/controlplane/shape"
)

// TestPlain: the same server binary is a plain Kubernetes that has never heard of SCCs.
func TestPlain(t *testing.T) {
	p, err := controlplane.Start(t.Context(), controlplane.Plain())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
	})
	if err := shape.Plain(2).Create(t.Context(), p.Client()); err != nil {
		t.Fatal(err)
	}
	if err := p.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	groups, err := discovery.NewDiscoveryClientForConfigOrDie(p.Admin()).ServerGroups()
	if err != nil {
		t.Fatal(err)
	}
	has := map[string]bool{}
	for _, g := range groups.Groups {
		has[g.Name] = true
	}
	if has["security.openshift.io"] || has["config.openshift.io"] || !has["k8s.cni.cncf.io"] {
		t.Errorf("API groups %v", has)
	}
	const ns = "train"
	dev := project(t, p, ns)
	locked := pod(ns, "locked", capability("IPC_LOCK"))
	create(t, dev, locked, training(ns, "train", 2, map[string]int64{"nvidia.com/gpu": 8, "nvidia.com/mlnxnics": 8}))
	if scc, ok := locked.Annotations[usedSCC]; ok {
		t.Errorf("admitted under SCC %q", scc)
	}
	for i := range 2 {
		name := fmt.Sprintf("train-%d", i)
		eventually(t, name+" runs", func() error { return running(t.Context(), dev, ns, name) })
	}
}
