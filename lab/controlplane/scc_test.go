package controlplane_test

import (
	"fmt"
	"strings"
	"testing"

	securityv1 "github.com/openshift/api/security/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/railhead/railhead/lab/controlplane/openshift"
)

const usedSCC = "openshift.io/scc"

// lockSCC is restricted-v2 with IPC_LOCK.
func lockSCC(name string) *securityv1.SecurityContextConstraints {
	for _, s := range openshift.StandardSCCs() {
		if s.Name == "restricted-v2" {
			s.Name = name
			s.AllowedCapabilities = append(s.AllowedCapabilities, "IPC_LOCK")
			return s
		}
	}
	return nil
}

// grant lets a ServiceAccount use an SCC in its namespace.
func grant(scc, namespace, account string) *rbacv1.RoleBinding {
	return &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: scc},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: openshift.UseSCC(scc).Name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: account}},
	}
}

func TestSCC(t *testing.T) {
	const ns, scc = "scc", "lock"
	dev, admin := project(t, shared, ns), shared.Client()

	t.Run("plain pod is given restricted-v2", func(t *testing.T) {
		p := pod(ns, "plain")
		create(t, dev, p)
		if got := p.Annotations[usedSCC]; got != "restricted-v2" {
			t.Errorf("SCC %q", got)
		}
		s := p.Spec.Containers[0].SecurityContext
		if s == nil || s.RunAsUser == nil || *s.RunAsUser < 1000000000 || *s.AllowPrivilegeEscalation ||
			s.Capabilities.Drop[0] != "ALL" {
			t.Errorf("not restricted: %v", s)
		}
	})
	for name, test := range map[string]struct {
		change func(*corev1.Pod)
		want   string
	}{
		"capability": {
			capability("IPC_LOCK"),
			`capabilities.add: Invalid value: "IPC_LOCK": capability may not be added`,
		},
		"host network": {func(p *corev1.Pod) { p.Spec.HostNetwork = true }, "Host network is not allowed to be used"},
		"privileged": {func(p *corev1.Pod) {
			yes := true
			p.Spec.Containers[0].SecurityContext = &corev1.SecurityContext{Privileged: &yes}
		}, "Privileged containers are not allowed"},
	} {
		t.Run(name+" is refused", func(t *testing.T) {
			err := dev.Create(t.Context(), pod(ns, "refused", test.change))
			const general = "unable to validate against any security context constraint: ["
			if err == nil || !strings.Contains(err.Error(), general) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v", err)
			}
		})
	}

	set := lockingSet(ns, "train", "trainer")
	create(t, dev, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "trainer"}}, set)
	t.Run("controller is refused too", func(t *testing.T) {
		eventually(t, "an event of the StatefulSet", func() error { return refusedEvent(t, ns) })
	})
	s, role := lockSCC(scc), openshift.UseSCC(scc)
	create(t, admin, s, role)
	remove(t, admin, s, role)
	trainer := func(p *corev1.Pod) { p.Spec.ServiceAccountName = "trainer" }
	t.Run("an SCC that no account may use helps none", func(t *testing.T) {
		eventually(t, "the server's informer has the SCC", func() error {
			err := dev.Create(t.Context(), pod(ns, "ungranted", trainer, capability("IPC_LOCK")))
			const want = `provider "lock": Forbidden: not usable by user or serviceaccount`
			if err == nil || !strings.Contains(err.Error(), want) {
				return fmt.Errorf("got %w", err)
			}
			return nil
		})
	})
	create(t, admin, grant(scc, ns, "trainer"))
	t.Run("a granted one is used, and no more than it allows", func(t *testing.T) {
		p := pod(ns, "granted", trainer, capability("IPC_LOCK"))
		eventually(t, "the pod is admitted", func() error { return dev.Create(t.Context(), p) })
		if got := p.Annotations[usedSCC]; got != scc {
			t.Errorf("SCC %q", got)
		}
		root := func(p *corev1.Pod) { zero := int64(0); p.Spec.Containers[0].SecurityContext.RunAsUser = &zero }
		for _, change := range []func(*corev1.Pod){root, capability("SYS_ADMIN")} {
			if err := dev.Create(t.Context(), pod(ns, "more", trainer, capability("IPC_LOCK"), change)); err == nil {
				t.Error("admitted")
			}
		}
	})
	t.Run("controller's pods run", func(t *testing.T) {
		eventually(t, "train-0 runs", func() error { return running(t.Context(), dev, ns, "train-0") })
	})
}

// lockingSet is a StatefulSet of one pod that adds IPC_LOCK.
func lockingSet(namespace, name, account string) *appsv1.StatefulSet {
	labels := map[string]string{"app": name}
	template := pod(namespace, name, capability("IPC_LOCK"))
	template.Spec.ServiceAccountName = account
	return &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace,
		Name:      name,
	}, Spec: appsv1.StatefulSetSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels}, ServiceName: name,
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: template.Spec},
	}}
}

func refusedEvent(t *testing.T, namespace string) error {
	var events corev1.EventList
	if err := shared.Client().List(t.Context(), &events, client.InNamespace(namespace)); err != nil {
		return err
	}
	for _, e := range events.Items {
		if e.Reason == "FailedCreate" &&
			strings.Contains(e.Message, "unable to validate against any security context constraint") {
			return nil
		}
	}
	return fmt.Errorf("%d events, none of a refusal", len(events.Items))
}

// TestExecRestrictions: a pod that dev could not have created is not one that dev may enter.
func TestExecRestrictions(t *testing.T) {
	const ns = "exec"
	project(t, shared, ns)
	yes := true
	create(t, shared.Client(), pod(ns, "host", func(p *corev1.Pod) {
		p.Spec.Containers[0].SecurityContext = &corev1.SecurityContext{Privileged: &yes}
	}))
	cfg, err := shared.Users.Config("dev")
	if err != nil {
		t.Fatal(err)
	}
	c := kubernetes.NewForConfigOrDie(cfg).CoreV1().RESTClient()
	err = c.Post().Resource("pods").Namespace(ns).Name("host").SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{
			Container: "c",
			Command:   []string{"true"},
			Stdout:    true,
		}, scheme.ParameterCodec).
		Do(t.Context()).Error()
	const want = "exec operation is not allowed because the pod's security context exceeds your permissions"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v", err)
	}
}
