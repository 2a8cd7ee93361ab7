package e2e_test

import (
	"slices"
	"testing"

	securityv1 "github.com/openshift/api/security/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestMetrics: an administrator lets nodes serve RDMA metrics, with no privilege but the sight of the node, and takes
// that back.
func TestMetrics(t *testing.T) {
	const name = "railhead-metrics"
	a, c := admin(t, openShift), openShift.Client()
	set := []string{"setup", "metrics", "--image=example.invalid/railhead:1"}
	a.does(t, append(set, "--dry-run=client")...).silent(t).says(t, "apply  DaemonSet "+name+"/"+name, "can read the metrics")
	a.does(t, append(set, "--dry-run=server")...).silent(t).says(t, "created Namespace "+name+" (dry run)")
	a.does(t, append(set, "--yes")...).silent(t).says(t, "created SecurityContextConstraints "+name, "nodes serve metrics")
	a.does(t, append(set, "--yes")...).silent(t).says(t, "Nothing to do")
	a.does(t, "setup", "status").prints(t, "nodes serve RDMA metrics on port 9440.")
	t.Run("least privilege", func(t *testing.T) {
		var pods corev1.PodList
		if err := c.List(t.Context(), &pods, client.InNamespace(name)); err != nil || len(pods.Items) == 0 {
			t.Fatalf("%d pods, %v", len(pods.Items), err)
		}
		for _, p := range pods.Items {
			s := p.Spec.Containers[0].SecurityContext
			if p.Annotations["openshift.io/scc"] != name || *p.Spec.SecurityContext.RunAsUser == 0 ||
				s.Privileged != nil && *s.Privileged || *s.AllowPrivilegeEscalation || len(s.Capabilities.Add) > 0 ||
				!slices.Equal(s.Capabilities.Drop, []corev1.Capability{"ALL"}) || len(p.Spec.Volumes) > 0 {
				t.Errorf("%s was admitted by %s as %+v, volumes %v", p.Name, p.Annotations["openshift.io/scc"], s, p.Spec.Volumes)
			}
		}
		scc := get(t, c, &securityv1.SecurityContextConstraints{ObjectMeta: meta("", name)})
		if !slices.Equal(scc.Users, []string{"system:serviceaccount:" + name + ":" + name}) || len(scc.Groups) > 0 {
			t.Errorf("SCC of %v %v", scc.Users, scc.Groups)
		}
	})
	a.does(t, "setup", "rollback", "--yes").silent(t).says(t, "deleted DaemonSet "+name, "deleted Namespace "+name)
	for _, gone := range []client.Object{
		&appsv1.DaemonSet{ObjectMeta: meta(name, name)}, &securityv1.SecurityContextConstraints{ObjectMeta: meta("", name)},
	} {
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(gone), gone); !apierrors.IsNotFound(err) {
			t.Errorf("%T: %v", gone, err)
		}
	}
	a.does(t, "setup", "rollback", "--yes").silent(t).says(t, "Nothing to do")
}
