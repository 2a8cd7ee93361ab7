package controlplane_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/railhead/railhead/lab/controlplane"
	"github.com/railhead/railhead/lab/controlplane/openshift"
	"github.com/railhead/railhead/lab/controlplane/scheme"
	"github.com/railhead/railhead/lab/controlplane/shape"
)

// shared is the OpenShift of all tests here, with the nodes of shape.Born. Tests have namespaces of their own in it.
var shared *controlplane.ControlPlane

func TestMain(m *testing.M) {
	options := controlplane.OpenShift()
	options.Reboot = 50 * time.Millisecond
	os.Exit(controlplane.Share(m, options, func(ctx context.Context, p *controlplane.ControlPlane) error {
		shared = p
		if err := shape.Born().Create(ctx, p.Client()); err != nil {
			return err
		}
		return p.Settle(ctx)
	}))
}

// eventually waits until ready returns nil.
func eventually(t *testing.T, what string, ready func() error) {
	t.Helper()
	ticks := time.NewTicker(25 * time.Millisecond)
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

func create(t *testing.T, c client.Client, objects ...client.Object) {
	t.Helper()
	for _, o := range objects {
		if err := c.Create(t.Context(), o); err != nil {
			t.Fatalf("create %T %s: %v", o, o.GetName(), err)
		}
	}
}

// remove deletes objects when the test ends: its own context is over by then.
func remove(t *testing.T, c client.Client, objects ...client.Object) {
	t.Cleanup(func() {
		for _, o := range objects {
			if err := client.IgnoreNotFound(c.Delete(context.Background(), o)); err != nil {
				t.Errorf("delete %s: %v", o.GetName(), err)
			}
		}
	})
}

// as returns a client of a user.
func as(t *testing.T, p *controlplane.ControlPlane, user string, groups ...string) client.Client {
	t.Helper()
	cfg, err := p.Users.Config(user, groups...)
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(cfg, client.Options{Scheme: scheme.New()})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// project makes a namespace in which user dev may edit, waits until it has its ServiceAccount, and returns dev's
// client.
func project(t *testing.T, p *controlplane.ControlPlane, name string) client.Client {
	t.Helper()
	ns := openshift.Namespace(name)
	create(t, p.Client(), ns, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: "dev"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "edit"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "dev"}},
	})
	remove(t, p.Client(), ns)
	dev := as(t, p, "dev")
	eventually(t, "dev may create pods in "+name, func() error {
		return dev.Create(t.Context(), pod(name, "would-be-admitted"), client.DryRunAll)
	})
	return dev
}

// pod returns a pod with one container and changes.
func pod(namespace, name string, changes ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "example.invalid/c"}}},
	}
	for _, change := range changes {
		change(p)
	}
	return p
}

// capability adds a capability to the container.
func capability(c corev1.Capability) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Containers[0].SecurityContext = &corev1.SecurityContext{
			Capabilities: &corev1.Capabilities{Add: []corev1.Capability{c}},
		}
	}
}

// running returns what is missing until the pod runs on a node.
func running(ctx context.Context, c client.Client, namespace, name string) error {
	var p corev1.Pod
	if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &p); err != nil {
		return err
	}
	if p.Status.Phase != corev1.PodRunning || p.Spec.NodeName == "" {
		return fmt.Errorf("pod %s is %s on node %q", name, p.Status.Phase, p.Spec.NodeName)
	}
	return nil
}
