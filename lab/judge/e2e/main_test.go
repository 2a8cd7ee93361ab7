package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	machineconfigv1 "github.com/openshift/api/machineconfiguration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/railhead/railhead/lab/controlplane"
	"github.com/railhead/railhead/lab/controlplane/assets"
	"github.com/railhead/railhead/lab/controlplane/shape"
)

// openShift is the cluster of shape.Born that all stories here but those of plain Kubernetes happen in. Its worker
// pool has a MachineConfig of somebody else that sets limits in CRI-O. Stories have namespaces of their own; those
// about the nodes bring the cluster to where they begin, and the files' names are in an order in which that is
// little.
var openShift *controlplane.ControlPlane

// podBinary is railhead-pod for linux/amd64, which the nodes of the lab say they are.
var podBinary string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "railhead-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	podBinary = filepath.Join(dir, "railhead-pod")
	built := make(chan error, 1)
	go func() { built <- assets.BuildPod(context.Background(), podBinary) }()
	o := options()
	o.Reboot = reboot
	return controlplane.Share(m, o, func(ctx context.Context, p *controlplane.ControlPlane) error {
		openShift = p
		return errors.Join(furnish(ctx, p), <-built)
	})
}

// reboot is the time that a node takes to reboot.
const reboot = 100 * time.Millisecond

// atOnce is the number of workers that may be away at the same time in a rollout.
const atOnce = 5

// furnish makes the cluster that the stories happen in.
func furnish(ctx context.Context, p *controlplane.ControlPlane) error {
	c := p.Client()
	if err := c.Create(ctx, siteLimits()); err != nil {
		return err
	}
	for _, role := range roles() {
		if err := c.Create(ctx, role); err != nil {
			return err
		}
	}
	pool := &machineconfigv1.MachineConfigPool{ObjectMeta: metav1.ObjectMeta{Name: "worker"}}
	before := pool.DeepCopy()
	most := intstr.FromInt32(atOnce)
	pool.Spec.MaxUnavailable = &most
	if err := c.Patch(ctx, pool, client.MergeFrom(before)); err != nil {
		return err
	}
	if err := shape.Born().Create(ctx, c); err != nil {
		return err
	}
	return p.Settle(ctx)
}

// siteLimits is a MachineConfig by which an administrator has raised a limit of all containers: CRI-O takes the list
// of the last file only, so that the author of another one must keep what is in this.
func siteLimits() *machineconfigv1.MachineConfig {
	return &machineconfigv1.MachineConfig{
		ObjectMeta: metav1.ObjectMeta{Name: "50-worker-site-limits", Labels: map[string]string{mco + "role": "worker"}},
		Spec: machineconfigv1.MachineConfigSpec{Config: kruntime.RawExtension{Raw: []byte(`{"ignition":{"version":"3.4.0"},"storage":{"files":[{
			"path":"/etc/crio/crio.conf.d/50-site-limits","mode":420,"overwrite":true,
			"contents":{"source":"data:,%5Bcrio.runtime%5D%0Adefault_ulimits%20%3D%20%5B%22nofile%3D65536%3A65536%22%5D%0A"}}]}}`)}},
	}
}

// roles are the usual ones of a cluster's users: OpenShift's cluster-reader, and that administrators of a
// namespace may read and write its network attachments and JobSets.
func roles() []client.Object {
	read := []string{"get", "list", "watch"}
	return []client.Object{
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "cluster-reader"}, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: read},
		}},
		&rbacv1.ClusterRole{
			ObjectMeta: metav1.ObjectMeta{Name: "e2e-namespace-admin", Labels: map[string]string{
				"rbac.authorization.k8s.io/aggregate-to-admin": "true",
			}},
			Rules: []rbacv1.PolicyRule{
				{APIGroups: []string{"k8s.cni.cncf.io"}, Resources: []string{"network-attachment-definitions"}, Verbs: []string{"*"}},
				{APIGroups: []string{"jobset.x-k8s.io"}, Resources: []string{"jobsets"}, Verbs: []string{"*"}},
			},
		},
	}
}

// eventually waits until ready returns nil.
func eventually(t *testing.T, what string, ready func() error) {
	t.Helper()
	ticks := time.NewTicker(25 * time.Millisecond)
	defer ticks.Stop()
	timeout := time.After(patience)
	for {
		missing := ready()
		if missing == nil {
			return
		}
		select {
		case <-ticks.C:
		case <-timeout:
			t.Fatalf("%s: not within %s; at last: %v", what, patience, missing)
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

// get reads an object by its key, which the object holds.
func get[O client.Object](t *testing.T, c client.Client, o O) O {
	t.Helper()
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
		t.Fatalf("get %T %s: %v", o, client.ObjectKeyFromObject(o), err)
	}
	return o
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

func meta(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name}
}

// namespace makes a namespace whose administrator is the user, and takes it away when the test ends.
func namespace(t *testing.T, p *controlplane.ControlPlane, name string, admins ...string) {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: meta("", name)}
	create(t, p.Client(), ns)
	remove(t, p.Client(), ns)
	administers(t, p, name, admins...)
}

// administers gives users the role admin in a namespace.
func administers(t *testing.T, p *controlplane.ControlPlane, namespace string, users ...string) {
	t.Helper()
	for _, user := range users {
		create(t, p.Client(), &rbacv1.RoleBinding{
			ObjectMeta: meta(namespace, "admin-"+user),
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "admin"},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
		})
	}
}

// readsAll gives a user the role cluster-reader.
func readsAll(t *testing.T, p *controlplane.ControlPlane, user string) {
	t.Helper()
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: meta("", "reader-"+user),
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-reader"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}
	create(t, p.Client(), binding)
	remove(t, p.Client(), binding)
}
