package e2e_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestRefusedByAdmission: a user who may not read the cluster's security finds out from OpenShift's own answer, which
// is explained; after the grant the same job runs.
func TestRefusedByAdmission(t *testing.T) {
	const ns = "locked"
	setUp(t)
	trains(t, ns, "lonely")
	u := as(t, openShift, "lonely")
	job := deploy("lock", ns, "--gpus=8", "--memlock=ipc-lock")
	t.Run("refused", func(t *testing.T) {
		r := u.ends(t, 1, job...).silent(t)
		r.says(t, "unknown: securitycontextconstraints: whether service account railhead-sa may use an SCC that allows IPC_LOCK and root could not be read",
			"no SCC that its service account may use lets lock-0 add IPC_LOCK [scc-ipc-lock]",
			"event FailedCreate of StatefulSet/lock", "unable to validate against any security context constraint", "capability may not be added",
			"railhead setup cluster --allow-ipc-lock", "railhead: it will not succeed without a fix")
		if pods := podsOf(t, openShift, ns, "lock"); len(pods) > 0 {
			t.Errorf("pods %v", pods)
		}
		u.ends(t, 1, "status", "lock", "-n", ns).silent(t).says(t, "Job lock has 0 of 2 pods.", "[scc-ipc-lock]", "unable to validate against any security context constraint")
		u.ends(t, 1, "status", "lock", "-n", ns, "-o", "json").prints(t, `"wanted": 2`, `"check": "scc-ipc-lock"`)
	})
	t.Run("admitted once the SCC allows it, though the refusal is still among the events", func(t *testing.T) {
		a := admin(t, openShift)
		a.does(t, "setup", "cluster", "--allow-ipc-lock", "--yes").silent(t).says(t, "configured SecurityContextConstraints railhead-rdma", "allows more than restricted-v2: the capability IPC_LOCK, and root")
		u.does(t, job...).silent(t).says(t, "lock: 2 of 2 pods ready", "The pods run as root with the capability IPC_LOCK, because of --memlock ipc-lock")
		pods := podsOf(t, openShift, ns, "lock")
		if len(pods) != 2 {
			t.Fatalf("pods %v", pods)
		}
		for _, p := range pods {
			s := p.Spec.Containers[0].SecurityContext
			if p.Annotations["openshift.io/scc"] != railheadSCC || *s.RunAsUser != 0 || !slices.Equal(s.Capabilities.Add, []corev1.Capability{"IPC_LOCK"}) ||
				!slices.Equal(s.Capabilities.Drop, []corev1.Capability{"ALL"}) || s.Privileged != nil && *s.Privileged {
				t.Errorf("%s was admitted by %s as %+v", p.Name, p.Annotations["openshift.io/scc"], s)
			}
		}
		u.does(t, "delete", "lock", "-n", ns, "--yes").silent(t)
		a.does(t, "setup", "cluster", "--yes").silent(t).says(t, "SCC railhead-rdma no longer allows IPC_LOCK")
		u.ends(t, 1, job...).says(t, "[scc-ipc-lock]")
		u.does(t, "delete", "lock", "-n", ns, "--yes").silent(t)
	})
	t.Run("no privilege is needed where the nodes unlock memory", func(t *testing.T) {
		u.ends(t, 1, deploy("plain", ns)...).silent(t).says(t, "--gpus is missing: it must be the number of GPUs of each pod, because nodes could not be read")
		r := u.does(t, deploy("plain", ns, "--gpus=8")...).silent(t)
		r.says(t, `nodes is forbidden: User "lonely" cannot list resource "nodes"`, "[pod-memlock]", "plain: 2 of 2 pods ready")
		for _, p := range podsOf(t, openShift, ns, "plain") {
			leastPrivilege(t, p)
		}
		u.does(t, deploy("plain", ns, "--gpus=8")...).silent(t).says(t, "Nothing to do")
		u.does(t, "status", "plain", "-n", ns).prints(t, "plain-0", "plain-1", railheadSCC)
		u.does(t, "delete", "plain", "-n", ns, "--yes").silent(t)
	})
	t.Run("an inventory says what it could not read", func(t *testing.T) {
		r := u.ends(t, 3, "inventory", "-n", ns)
		r.says(t, "unknown: nodes: nodes could not be read, so what depends on them is unknown [cluster-readable]")
		r.prints(t, "locked-eno5np0")
	})
}
