package controlplane_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	networksv1 "github.com/k8snetworkplumbingwg/network-attachment-definition-client/pkg/apis/k8s.cni.cncf.io/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/railhead/railhead/lab/controlplane/openshift"
	"github.com/railhead/railhead/lab/controlplane/scheme"
)

// training is a StatefulSet whose pods want resources, in whole numbers.
func training(namespace, name string, replicas int32, resources map[string]int64) *appsv1.StatefulSet {
	labels := map[string]string{"app": name}
	template := pod(namespace, name)
	limits := corev1.ResourceList{}
	for r, n := range resources {
		limits[corev1.ResourceName(r)] = *resource.NewQuantity(n, resource.DecimalSI)
	}
	template.Spec.Containers[0].Resources.Limits = limits
	return &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace,
		Name:      name,
	}, Spec: appsv1.StatefulSetSpec{
		Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels}, ServiceName: name,
		PodManagementPolicy: appsv1.ParallelPodManagement,
		Template:            corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: template.Spec},
	}}
}

// TestTraining: two pods that want whole GPU nodes get the two that there are, a third one waits.
func TestTraining(t *testing.T) {
	const ns = "training"
	dev := project(t, shared, ns)
	create(t, dev, training(ns, "train", 3, map[string]int64{
		"nvidia.com/gpu": 8, "openshift.io/eno5np0rdma": 1, "openshift.io/eno6np0rdma": 1,
		"openshift.io/eno7np0rdma": 1, "openshift.io/eno8np0rdma": 1,
	}))
	eventually(t, "two pods run, one waits", func() error {
		var pods corev1.PodList
		if err := dev.List(t.Context(), &pods, client.InNamespace(ns)); err != nil {
			return err
		}
		on, waits := map[string]int{}, ""
		for _, p := range pods.Items {
			if p.Status.Phase == corev1.PodRunning {
				on[p.Spec.NodeName]++
				continue
			}
			for _, c := range p.Status.Conditions {
				waits += c.Message
			}
		}
		// 16 nodes: three masters with a taint, two full ones, and eleven without a GPU.
		if on["gpu-0"] != 1 || on["gpu-1"] != 1 || !strings.Contains(waits, "0/16 nodes are available:") ||
			!strings.Contains(waits, "13 Insufficient nvidia.com/gpu") ||
			!strings.Contains(waits, "13 Insufficient openshift.io/eno5np0rdma") {
			return fmt.Errorf("on %v, waiting: %s", on, waits)
		}
		return nil
	})
}

func TestForbidden(t *testing.T) {
	err := as(t, shared, "nobody").List(t.Context(), &corev1.NodeList{})
	const want = `nodes is forbidden: User "nobody" cannot list resource "nodes" in API group "" at the cluster scope`
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v", err)
	}
	if err := as(t, shared, "kube:admin", "system:cluster-admins").List(t.Context(), &corev1.NodeList{}); err != nil {
		t.Errorf("a cluster administrator: %v", err)
	}
}

func sriov(kind, name string, spec map[string]any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	u.SetGroupVersionKind(scheme.SRIOVKind(kind))
	u.SetNamespace(openshift.SRIOVNamespace)
	u.SetName(name)
	return u
}

// TestSRIOVNetwork: the stand-in keeps an attachment for a network, and waits for its namespace.
func TestSRIOVNetwork(t *testing.T) {
	const ns = "rails"
	c := shared.Client()
	network := sriov("SriovNetwork", "rail-a", map[string]any{
		"resourceName": "eno5np0rdma", "networkNamespace": ns, "ipam": `{"type": "static"}`,
		"metaPlugins": `{"type": "rdma"}`,
	})
	create(t, c, network)
	remove(t, c, network)
	project(t, shared, ns)
	var a networksv1.NetworkAttachmentDefinition
	key := client.ObjectKey{Namespace: ns, Name: "rail-a"}
	eventually(t, "the attachment", func() error { return c.Get(t.Context(), key, &a) })
	if got := a.Annotations["k8s.v1.cni.cncf.io/resourceName"]; got != "openshift.io/eno5np0rdma" {
		t.Errorf("resource %q", got)
	}
	if !strings.Contains(a.Spec.Config, `"plugins": [`) || !strings.Contains(a.Spec.Config, `"type": "rdma"`) {
		t.Errorf("configuration %s", a.Spec.Config)
	}
	if err := c.Delete(t.Context(), &a); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the attachment is made again", func() error { return c.Get(t.Context(), key, &a) })
	if err := c.Delete(t.Context(), network); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the attachment is gone with its network", func() error {
		if err := c.Get(t.Context(), key, &a); !apierrors.IsNotFound(err) {
			return errors.Join(errors.New("still there"), err)
		}
		return nil
	})
}

// TestSRIOVPolicy: VFs of a policy are resources of the nodes, and are gone with it.
func TestSRIOVPolicy(t *testing.T) {
	c := shared.Client()
	policy := sriov("SriovNetworkNodePolicy", "storage", map[string]any{
		"resourceName": "storage", "numVfs": int64(8), "nicSelector": map[string]any{
			"vendor":  "8086",
			"pfNames": []any{"ens1f0np0#2-5"},
		},
		"nodeSelector": map[string]any{"kubernetes.io/hostname": "cpu-01"},
	})
	create(t, c, policy)
	remove(t, c, policy)
	advertised := func(want int64) func() error {
		return func() error {
			var n corev1.Node
			if err := c.Get(t.Context(), client.ObjectKey{Name: "cpu-01"}, &n); err != nil {
				return err
			}
			q, ok := n.Status.Allocatable["openshift.io/storage"]
			if !ok || q.Value() != want {
				return fmt.Errorf("%v of openshift.io/storage", n.Status.Allocatable)
			}
			return nil
		}
	}
	eventually(t, "four of the eight VFs are a resource", advertised(4))
	state := sriov("SriovNetworkNodeState", "cpu-01", nil)
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(state), state); err != nil {
		t.Fatal(err)
	}
	pfs, _, _ := unstructured.NestedSlice(state.Object, "status", "interfaces")
	vfs, _, _ := unstructured.NestedSlice(pfs[0].(map[string]any), "Vfs")
	if len(vfs) != 8 {
		t.Errorf("%d VFs in the node state", len(vfs))
	}
	if err := c.Delete(t.Context(), policy); err != nil {
		t.Fatal(err)
	}
	eventually(t, "none is left", advertised(0))
}
