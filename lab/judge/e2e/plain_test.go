package e2e_test

import (
	"fmt"
	"testing"

	networksv1 "github.com/k8snetworkplumbingwg/network-attachment-definition-client/pkg/apis/k8s.cni.cncf.io/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/railhead/railhead/lab/controlplane"
	"github.com/railhead/railhead/lab/controlplane/assets"
	"github.com/railhead/railhead/lab/controlplane/shape"
)

// plain starts a plain Kubernetes, with sets of CRDs besides its own.
func plain(t *testing.T, cluster shape.Cluster, crds ...assets.CRDs) *controlplane.ControlPlane {
	t.Helper()
	o := controlplane.Plain()
	o.CRDs = append(o.CRDs, crds...)
	p, err := controlplane.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
	})
	for _, role := range roles() {
		create(t, p.Client(), role)
	}
	populate(t, p, cluster)
	return p
}

func populate(t *testing.T, p *controlplane.ControlPlane, cluster shape.Cluster) {
	t.Helper()
	if err := cluster.Create(t.Context(), p.Client()); err != nil {
		t.Fatal(err)
	}
	if err := p.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestPlainKubernetes: the same commands where there are no SCCs, no MachineConfigs and no SR-IOV operator, on a
// cluster with names of its own.
func TestPlainKubernetes(t *testing.T) {
	p := plain(t, shape.Plain(2))
	a := admin(t, p)
	t.Run("inventory", func(t *testing.T) {
		a.does(t, "inventory").prints(t, "Kubernetes v1.36.3  with multus", "node-0", "8 nvidia.com/gpu", "mlnxnics:8", "rdma-net", "nvidia.com/mlnxnics", "2 nodes")
	})
	t.Run("setup cluster says what the site must do", func(t *testing.T) {
		a.ends(t, 3, "setup", "cluster", "--yes").silent(t).says(t, "unknown: nodes: this cluster has no MachineConfigs", "Nothing to write",
			`grubby --update-kernel=ALL --args="intel_iommu=on iommu=pt"`, "containerd.service.d/99-rdma-memlock.conf", "LimitMEMLOCK=infinity")
		a.does(t, "setup", "status").silent(t).says(t, "This cluster has no machine config pools", "'railhead explain-check node-settings'")
		a.does(t, "setup", "rollback", "--yes").silent(t).says(t, "Nothing to do")
	})
	t.Run("setup namespace", func(t *testing.T) { plainNamespace(t, p, a) })
	t.Run("deploy", func(t *testing.T) { plainDeploy(t, p, a) })
	t.Run("deploy with IPC_LOCK", func(t *testing.T) {
		a.ends(t, 1, deploy("job", "train", "--memlock=ipc-lock")...).silent(t).says(t, "namespace train enforces Pod Security level baseline, which forbids the capability IPC_LOCK")
		a.does(t, "setup", "namespace", "locking", "--networks-from=default", "--allow-ipc-lock", "--yes").silent(t).says(t, "Namespace locking gets Pod Security level privileged")
		a.does(t, deploy("job", "locking")...).silent(t).says(t, "The pods run as root with the capability IPC_LOCK")
		for _, pod := range podsOf(t, p, "locking", "job") {
			if s := pod.Spec.Containers[0].SecurityContext; fmt.Sprint(s.Capabilities.Add) != "[IPC_LOCK]" || *s.RunAsUser != 0 || s.Privileged != nil {
				t.Errorf("%s: %+v", pod.Name, s)
			}
		}
		a.does(t, "delete", "job", "-n", "locking", "--yes").silent(t)
	})
	t.Run("a shared device plugin", func(t *testing.T) { plainShared(t, p, a) })
}

func plainNamespace(t *testing.T, p *controlplane.ControlPlane, a user) {
	a.ends(t, 1, "setup", "namespace", "train", "--yes").silent(t).says(t, "namespace train gets no rails", "railhead setup namespace train --networks-from default")
	a.does(t, "setup", "namespace", "train", "--networks-from=default", "--yes").silent(t).says(t, "Rails of namespace train: rdma-net (nvidia.com/mlnxnics, 2 nodes)",
		"created Namespace train", "created ServiceAccount railhead-sa", "created NetworkAttachmentDefinition rdma-net")
	a.does(t, "setup", "namespace", "train", "--networks-from=default", "--yes").silent(t).says(t, "Nothing to do")
	if level := get(t, p.Client(), &corev1.Namespace{ObjectMeta: meta("", "train")}).Labels["pod-security.kubernetes.io/enforce"]; level != "baseline" {
		t.Errorf("Pod Security level %q", level)
	}
}

func plainDeploy(t *testing.T, p *controlplane.ControlPlane, a user) {
	administers(t, p, "train", "h-kim")
	u := as(t, p, "h-kim")
	for _, test := range []struct {
		name, network string
		user          user
		flags         []string
		says          []string
	}{
		{"rdma", "rdma-net", u, []string{"--gpus=8"}, []string{`User "h-kim" cannot list resource "nodes"`, "railhead deploy rdma -n train --memlock node", "RDMA over 1 rail"}},
		{"node", "rdma-net", a, []string{"--memlock=node"}, []string{"The pods add no capability: --memlock node says that the nodes let them lock memory"}},
		{"auto", "rdma-net", a, []string{"--mode=auto"}, []string{"Mode auto uses RDMA: found 2 free nodes with 1 rail of namespace train"}},
		{"tcp", "", u, []string{"--mode=tcp", "--gpus=8"}, []string{"over TCP"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.user.does(t, deploy(test.name, "train", test.flags...)...).silent(t).says(t, append(test.says, "2 of 2 pods ready")...)
			for _, pod := range podsOf(t, p, "train", test.name) {
				s := pod.Spec.Containers[0].SecurityContext
				if pod.Annotations["k8s.v1.cni.cncf.io/networks"] != test.network || s.Privileged != nil || len(s.Capabilities.Add) > 0 || pod.Spec.HostNetwork {
					t.Errorf("%s: networks %q, %+v", pod.Name, pod.Annotations["k8s.v1.cni.cncf.io/networks"], s)
				}
			}
			test.user.does(t, "status", test.name, "-n", "train").prints(t, "node-0", "node-1", "Running")
			test.user.does(t, "delete", test.name, "-n", "train", "--yes").silent(t)
		})
	}
}

// plainShared puts nodes with the shared RDMA device plugin in the place of the others.
func plainShared(t *testing.T, p *controlplane.ControlPlane, a user) {
	c := p.Client()
	if err := c.DeleteAllOf(t.Context(), &corev1.Node{}); err != nil {
		t.Fatal(err)
	}
	for _, ns := range []string{"default", "train", "locking"} {
		if err := c.DeleteAllOf(t.Context(), &networksv1.NetworkAttachmentDefinition{}, client.InNamespace(ns)); err != nil {
			t.Fatal(err)
		}
	}
	populate(t, p, shape.PlainShared(2))
	a.does(t, "inventory").prints(t, "rdma_shared_device_a:63", "rdma-shared", "macvlan")
	const why = "rdma-shared: no annotation k8s.v1.cni.cncf.io/resourceName: it adds no device"
	a.ends(t, 1, "setup", "namespace", "shared", "--networks-from=default", "--yes").silent(t).says(t, "namespace default has no rail", "nothing was written")
	a.ends(t, 1, deploy("job", "default")...).silent(t).says(t, "pods cannot get a rail: namespace default has no rail ("+why+")", "railhead deploy job -n default --mode tcp")
	a.does(t, deploy("job", "default", "--mode=auto")...).silent(t).says(t, "Mode auto uses TCP: namespace default has no rail ("+why+")", "job: 2 of 2 pods ready")
	a.does(t, "delete", "job", "-n", "default", "--yes").silent(t)
}
