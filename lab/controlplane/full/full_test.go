//go:build openshift

// Package full tests what takes minutes to build: the JobSet controller and the network-resources-injector, with SCC
// admission. Run it with -tags openshift.
package full

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	securityv1 "github.com/openshift/api/security/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/railhead/railhead/lab/controlplane"
	"github.com/railhead/railhead/lab/controlplane/assets"
	"github.com/railhead/railhead/lab/controlplane/openshift"
	"github.com/railhead/railhead/lab/controlplane/scheme"
	"github.com/railhead/railhead/lab/controlplane/shape"
)

const ns = "train"

// shared has everything, and a namespace with a ServiceAccount trainer.
var shared *controlplane.ControlPlane

func TestMain(m *testing.M) {
	options := controlplane.OpenShift()
	options.Workloads, options.Injector = []assets.Program{assets.JobSet}, true
	os.Exit(controlplane.Share(m, options, func(ctx context.Context, p *controlplane.ControlPlane) error {
		shared = p
		if err := shape.Born().Create(ctx, p.Client()); err != nil {
			return err
		}
		if err := p.Settle(ctx); err != nil {
			return err
		}
		return openshift.Install(ctx, p.Client(), openshift.Namespace(ns),
			&corev1.ServiceAccount{
				ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "trainer"},
			}, rail("rail0", "eno5np0rdma"))
	}))
}

// rail is a network whose attachment is in the namespace.
func rail(name, resource string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{
		Object: map[string]any{"spec": map[string]any{"resourceName": resource, "networkNamespace": ns}},
	}
	u.SetGroupVersionKind(scheme.SRIOVKind("SriovNetwork"))
	u.SetNamespace(openshift.SRIOVNamespace)
	u.SetName(name)
	return u
}

// jobset has two pods on one rail, with IPC_LOCK.
func jobset(name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"replicatedJobs": []any{map[string]any{
		"name": "w", "replicas": int64(1), "template": map[string]any{"spec": map[string]any{
			"parallelism": int64(2), "completions": int64(2),
			"template": map[string]any{
				"metadata": map[string]any{"annotations": map[string]any{"k8s.v1.cni.cncf.io/networks": "rail0"}},
				"spec": map[string]any{"serviceAccountName": "trainer", "containers": []any{map[string]any{
					"name": "c", "image": "example.invalid/c",
					"securityContext": map[string]any{"capabilities": map[string]any{"add": []any{"IPC_LOCK"}}},
				}}},
			},
		}},
	}}}}}
	u.SetGroupVersionKind(scheme.JobSetKind())
	u.SetNamespace(ns)
	u.SetName(name)
	return u
}

// grant lets the trainer use an SCC with IPC_LOCK and these volumes.
func grant(t *testing.T, volumes ...securityv1.FSType) *securityv1.SecurityContextConstraints {
	t.Helper()
	all := openshift.StandardSCCs()
	scc := all[slices.IndexFunc(all,
		func(s *securityv1.SecurityContextConstraints) bool { return s.Name == "restricted-v2" })]
	scc.Name, scc.Volumes = "rdma", volumes
	scc.AllowedCapabilities = []corev1.Capability{"IPC_LOCK"}
	role := openshift.UseSCC("rdma")
	err := openshift.Install(t.Context(), shared.Client(), scc, role, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "rdma"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: ns, Name: "trainer"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return scc
}

func eventually(t *testing.T, what string, ready func() error) {
	t.Helper()
	ticks := time.NewTicker(50 * time.Millisecond)
	defer ticks.Stop()
	const patience = 10 * time.Minute
	timeout := time.After(patience)
	for {
		missing := ready()
		if missing == nil {
			return
		}
		select {
		case <-ticks.C:
		case <-timeout:
			t.Fatalf("%s: not within %v; at last: %v", what, patience, missing)
		}
	}
}

// TestJobSetAndInjector: the injector adds a downwardAPI volume to every pod with a network, so an SCC without that
// volume refuses all of them; with it they run, with the rail's resource, which was not requested by hand.
func TestJobSetAndInjector(t *testing.T) {
	c := shared.Client()
	scc := grant(t, securityv1.FSTypeEmptyDir, securityv1.FSTypeSecret, securityv1.FSProjected,
		securityv1.FSTypeConfigMap)
	train := jobset("train")
	if err := c.Create(t.Context(), train); err != nil {
		t.Fatal(err)
	}
	if mode, _, _ := unstructured.NestedBool(train.Object, "spec", "network", "enableDNSHostnames"); !mode {
		t.Errorf("not defaulted by the webhook: %v", train.Object["spec"])
	}
	err := c.Create(t.Context(),
		jobset("a-very-long-name-that-cannot-become-the-host-name-of-a-pod-because-it-is-long"))
	if err == nil || !strings.Contains(err.Error(), `admission webhook "vjobset.kb.io" denied the request`) {
		t.Errorf("too long a name: %v", err)
	}
	eventually(t, "the Job's pods are refused", func() error {
		var events corev1.EventList
		if err := c.List(t.Context(), &events, client.InNamespace(ns)); err != nil {
			return err
		}
		for _, e := range events.Items {
			if e.Reason == "FailedCreate" &&
				strings.Contains(e.Message, "downwardAPI volumes are not allowed to be used") {
				return nil
			}
		}
		return fmt.Errorf("%d events, none of a refusal", len(events.Items))
	})
	before := scc.DeepCopy()
	scc.Volumes = append(scc.Volumes, securityv1.FSTypeDownwardAPI)
	if err := c.Patch(t.Context(), scc, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "both pods run", func() error { return run(t, c) })
}

// run returns what is missing until both pods run on the two GPU nodes, under the SCC, each with a rail.
func run(t *testing.T, c client.Client) error {
	var pods corev1.PodList
	if err := c.List(t.Context(), &pods, client.InNamespace(ns)); err != nil {
		return err
	}
	on := map[string]bool{}
	for _, pod := range pods.Items {
		if pod.Status.Phase != corev1.PodRunning {
			return fmt.Errorf("pod %s is %s", pod.Name, pod.Status.Phase)
		}
		on[pod.Spec.NodeName] = true
		if scc := pod.Annotations["openshift.io/scc"]; scc != "rdma" {
			t.Errorf("pod %s is under SCC %q", pod.Name, scc)
		}
		if q := pod.Spec.Containers[0].Resources.Limits["openshift.io/eno5np0rdma"]; q.Value() != 1 {
			t.Errorf("pod %s has limits %v", pod.Name, pod.Spec.Containers[0].Resources.Limits)
		}
		if !strings.HasPrefix(pod.Spec.Hostname, "train-w-0-") || pod.Spec.Subdomain != "train" {
			t.Errorf("pod %s is %s.%s", pod.Name, pod.Spec.Hostname, pod.Spec.Subdomain)
		}
	}
	if len(on) != 2 || !on["gpu-0"] || !on["gpu-1"] {
		return fmt.Errorf("pods on %v", on)
	}
	return nil
}

// TestUnknownNetwork: the injector refuses a pod whose network is not there.
func TestUnknownNetwork(t *testing.T) {
	err := shared.Client().Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:   ns,
			Name:        "lost",
			Annotations: map[string]string{"k8s.v1.cni.cncf.io/networks": "rail9"},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "example.invalid/c"}}},
	})
	if err == nil || !strings.Contains(err.Error(), "could not find network attachment definition 'train/rail9'") {
		t.Errorf("got %v", err)
	}
}

// TestInjectorAfterServer restarts the API server, after which the injector is there again, too.
func TestInjectorAfterServer(t *testing.T) {
	shared.KillAPIServer()
	if err := shared.RestartAPIServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:   ns,
			Name:        "again",
			Annotations: map[string]string{"k8s.v1.cni.cncf.io/networks": "rail0"},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "example.invalid/c"}}},
	}
	if err := shared.Client().Create(t.Context(), pod, client.DryRunAll); err != nil {
		t.Fatal(err)
	}
	if q := pod.Spec.Containers[0].Resources.Limits["openshift.io/eno5np0rdma"]; q.Value() != 1 {
		t.Errorf("limits %v", pod.Spec.Containers[0].Resources.Limits)
	}
}
