//go:build workloads

package e2e_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/railhead/railhead/lab/controlplane/kubelet"
)

// TestTrainingWorkloads: the example of a controller's own project goes through inject and kubectl apply, its
// controller makes pods, and they have rails. Commands know the workload by its name and reach its pods.
func TestTrainingWorkloads(t *testing.T) {
	setUp(t)
	c := openShift.Client()
	workers := moreNodes(t)
	startKubelet(t, func(c kubelet.Container) string { return c.Pod + " " + c.Name + "\n" }, workers...)
	everything := func(name, account string, groups ...string) []client.Object {
		binding := &rbacv1.ClusterRoleBinding{
			ObjectMeta: meta("", name), RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: account}},
		}
		return []client.Object{binding, &rbacv1.ClusterRole{
			ObjectMeta: meta("", name),
			Rules:      []rbacv1.PolicyRule{{APIGroups: groups, Resources: []string{"*"}, Verbs: []string{"*"}}},
		}}
	}
	objects := slices.Concat(
		everything("e2e-workloads", "system:authenticated", "kubeflow.org", "leaderworkerset.x-k8s.io", "ray.io",
			"batch.volcano.sh", "trainer.kubeflow.org"),
		// Kueue 0.11 reads the owner of every Job before it admits it, and has no right to read TrainJobs: without this
		// the Jobs of TrainJobs are refused.
		everything("e2e-kueue", "system:serviceaccounts:kueue-system", "trainer.kubeflow.org"))
	create(t, c, objects...)
	remove(t, c, objects...)
	for _, s := range workloadStories() {
		kind, name, _ := strings.Cut(s.name, "/")
		ns := "w-" + strings.ReplaceAll(kind, ".", "-")
		if name == "local" {
			kind, ns = "local runtime", ns+"-"+name
		}
		t.Run(kind, func(t *testing.T) { s.tell(t, engineer(t, ns, ns), ns) })
	}
	for i, s := range erasedStories() {
		kind, _, _ := strings.Cut(s.name, "/")
		ns := fmt.Sprint("w-erased-", i)
		t.Run("erased from a "+kind, func(t *testing.T) { s.isErased(t, engineer(t, ns, ns), ns) })
	}
	t.Run("bench", func(t *testing.T) { isMeasured(t, engineer(t, "w-bench", "w-bench"), "w-bench", workers) })
	t.Run("deploy to a queue", func(t *testing.T) { deploysToQueue(t, engineer(t, "w-queue", "w-queue"), "w-queue") })
}

// isErased: a controller replaces what inject added, and inject --check and doctor say so, and where to set it.
func (s erasedStory) isErased(t *testing.T, u user, ns string) {
	u.stdin = s.inject(t, u, ns)
	s.made(t, ns)
	u.ends(t, 1, s.injects(ns, "--check")...).prints(t, append(s.compared, "[injection-kept]")...)
	u.stdin = ""
	u.ends(t, 1, "doctor", s.name, "-n", ns).prints(t, s.diagnosed...)
	u.ends(t, 1, "delete", s.name, "-n", ns, "--yes").silent(t).says(t, "To delete it: kubectl -n "+ns+" delete "+s.name)
	kubectlProgram(t, u)("", "-n", ns, "delete", s.name)
}

// queued: Kueue admits the job when its queue covers the rails as well.
func queued(t *testing.T, u user, ns string) {
	apply := kubectl(t, admin(t, openShift))
	apply(fmt.Sprintf(queues, "", ""))
	eventually(t, "doctor says what the queue lacks", func() error {
		r := u.railhead(t, "doctor", "job/queued", "-n", ns)
		known := strings.Contains(r.out, "[queue-admission]") && strings.Contains(r.out, "has no quota for openshift.io/")
		return unless(known, r.out)
	})
	u.ends(t, 1, "doctor", "job/queued", "-n", ns)
	u.ends(t, 1, "status", "job/queued", "-n", ns).silent(t).says(t, "[queue-admission]")
	covered, quota := railQuota()
	apply(fmt.Sprintf(queues, covered, quota))
}

// railQuota returns the resources of the rails as a ClusterQueue covers them, with a quota for the pods of two nodes.
func railQuota() (covered, quota string) {
	for _, rail := range railNames() {
		covered += fmt.Sprintf(", openshift.io/%srdma", rail)
		quota += fmt.Sprintf("      - {name: openshift.io/%srdma, nominalQuota: 2}\n", rail)
	}
	return covered, quota
}

// isMeasured: bench measures between the pods of a workload of another controller.
func isMeasured(t *testing.T, u user, ns string, workers []string) {
	k, _ := measuring(t)
	serves(t, k, workers...)
	i := slices.IndexFunc(operatorStories(), func(s workloadStory) bool { return s.name == "tfjob/tfjob-simple" })
	s := operatorStories()[i]
	s.inject(t, u, ns)
	s.made(t, ns)
	ready(t, ns)
	u.does(t, "bench", s.name, "-n", ns, "--duration=1s", "--force").prints(t,
		"Ladder: tfjob-simple-worker-0 on gpu-", " > tfjob-simple-worker-1 on gpu-", "Result: on target.")
}
