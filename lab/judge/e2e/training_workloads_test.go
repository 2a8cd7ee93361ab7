//go:build workloads

package e2e_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/railhead/railhead/lab/controlplane/assets"
	"github.com/railhead/railhead/lab/controlplane/kubelet"
)

// workloadStory is a training workload as the project of its controller shows it.
type workloadStory struct {
	name     string // as commands take it
	program  assets.Program
	examples []string // files of the controller's module
	manifest string   // after them
	flags    []string // of inject
	train    string   // container that trains, in pods with rails
	pods     []string // patterns of the names of the pods, by rank
	without  int      // number of pods without rails
	helpers  int      // number of pods that do not train: the last
	files    bool     // the settings are in files: railhead-pod does not start the command
}

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
		kind, _, _ := strings.Cut(s.name, "/")
		ns := "w-" + strings.ReplaceAll(kind, ".", "-")
		t.Run(kind, func(t *testing.T) { s.tell(t, engineer(t, ns, ns), ns) })
		if s.program == assets.Trainer {
			s.manifest = strings.Replace(trainJob, "numNodes: 2,", "numNodes: 2, resourcesPerNode: {limits: {nvidia.com/gpu: 8}},", 1)
			t.Run("what the trainer erases", func(t *testing.T) { s.isErased(t, engineer(t, "w-erased", "w-erased"), "w-erased") })
		}
	}
	t.Run("bench", func(t *testing.T) { isMeasured(t, engineer(t, "w-bench", "w-bench"), "w-bench", workers) })
	t.Run("deploy to a queue", func(t *testing.T) { deploysToQueue(t, engineer(t, "w-queue", "w-queue"), "w-queue") })
}

// isErased: the trainer replaces the resources of its runtime, and with them the rails, and inject --check says so.
func (s workloadStory) isErased(t *testing.T, u user, ns string) {
	u.stdin = s.inject(t, u, ns)
	for _, p := range s.made(t, ns) {
		if n := len(p.Spec.Containers[0].Resources.Limits); n != 1 {
			t.Errorf("%s has %d resources: the trainer left the rails", p.Name, n)
		}
	}
	checked := u.ends(t, 1, "inject", "--check", "-f", "-", "-n", ns, "--pod-binary=amd64="+podBinary)
	checked.prints(t, "[injection-kept]", "resource openshift.io/eno5np0rdma of container node", "resourcesPerNode")
	u.stdin = ""
	u.ends(t, 1, "doctor", s.name, "-n", ns).prints(t, "[pod-resources]",
		"only its init container requests openshift.io/eno5np0rdma", "resourcesPerNode of TrainJob llama replaces")
}

func (s workloadStory) tell(t *testing.T, u user, ns string) {
	manifest := s.inject(t, u, ns)
	if s.program == "" {
		s.queued(t, u, ns)
	}
	pods := s.made(t, ns)
	status := u.railhead(t, "status", s.name, "-n", ns)
	for _, p := range pods {
		if i := s.trains(p); i >= 0 {
			s.hasRails(t, p, p.Spec.Containers[i])
		} else if p.Annotations["k8s.v1.cni.cncf.io/networks"] != "" {
			t.Errorf("%s has rails: %v", p.Name, p.Annotations)
		}
		wants(t, "status", status.out, p.Name)
	}
	s.isReached(t, u, ns, pods)
	diagnosis := u.railhead(t, "doctor", s.name, "-n", ns)
	diagnosis.prints(t, "Job "+s.name+" in namespace "+ns)
	if strings.Contains(diagnosis.out, "[injection-kept]") {
		t.Errorf("doctor misses a part of the injection where nothing was erased:\n%s", diagnosis.out)
	}
	checking := u
	checking.stdin = manifest
	checking.does(t, append([]string{"inject", "--check", "-f", "-", "-n", ns, "--pod-binary=amd64=" + podBinary}, s.flags...)...)
	_, remove, _ := strings.Cut(u.ends(t, 1, "delete", s.name, "-n", ns, "--yes").silent(t).err, "To delete it: kubectl ")
	kubectlProgram(t, u)("", strings.Fields(remove)...)
	eventually(t, "the pods are gone", func() error {
		if left := podsIn(t, ns); len(left) > 0 {
			return fmt.Errorf("%d pods, the first is %s", len(left), left[0].Name)
		}
		return nil
	})
}

// inject passes the manifest through inject and kubectl apply, and returns it.
func (s workloadStory) inject(t *testing.T, u user, ns string) (manifest string) {
	t.Helper()
	manifest = s.manifest
	for _, example := range s.examples {
		text, err := assets.Example(t.Context(), s.program, example)
		if err != nil {
			t.Fatal(err)
		}
		manifest = strings.ReplaceAll(text, "namespace: kubeflow\n", "namespace: "+ns+"\n") + manifest
	}
	u.stdin = manifest
	injected := u.does(t, append([]string{"inject", "-f", "-", "-n", ns, "--pod-binary=amd64=" + podBinary}, s.flags...)...)
	kubectlProgram(t, u)(injected.out, "apply", "-n", ns, "-f", "-")
	return manifest
}

// queued: Kueue admits the job when its queue covers the rails as well.
func (s workloadStory) queued(t *testing.T, u user, ns string) {
	apply := kubectl(t, admin(t, openShift))
	apply(fmt.Sprintf(queues, "", ""))
	eventually(t, "doctor says what the queue lacks", func() error {
		r := u.railhead(t, "doctor", s.name, "-n", ns)
		if !strings.Contains(r.out, "[queue-admission]") || !strings.Contains(r.out, "has no quota for openshift.io/") {
			return fmt.Errorf("exit code %d: %s", r.code, r.out)
		}
		return nil
	})
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

// made waits for the pods of the workload.
func (s workloadStory) made(t *testing.T, ns string) (pods []corev1.Pod) {
	t.Helper()
	eventually(t, "the pods exist", func() error {
		pods = podsIn(t, ns)
		rails := 0
		for _, p := range pods {
			if s.trains(p) >= 0 {
				rails++
			}
		}
		if rails != len(s.pods)-s.without || len(pods) != len(s.pods) {
			return fmt.Errorf("%d pods with rails and %d others", rails, len(pods)-rails)
		}
		return nil
	})
	return pods
}

func podsIn(t *testing.T, ns string) []corev1.Pod {
	t.Helper()
	var pods corev1.PodList
	if err := openShift.Client().List(t.Context(), &pods, client.InNamespace(ns)); err != nil {
		t.Fatal(err)
	}
	return pods.Items
}

// trains returns the index of the container that trains, or -1. A launcher may have a container of the same name, but
// no worker's label.
func (s workloadStory) trains(p corev1.Pod) int {
	if p.Labels["training.kubeflow.org/job-role"] == "launcher" {
		return -1
	}
	return slices.IndexFunc(p.Spec.Containers, func(c corev1.Container) bool { return strings.HasPrefix(c.Name, s.train) })
}

// hasRails wants a pod to have what inject gave its template.
func (s workloadStory) hasRails(t *testing.T, p corev1.Pod, train corev1.Container) {
	t.Helper()
	if n := len(strings.Split(p.Annotations["k8s.v1.cni.cncf.io/networks"], ",")); n != len(railNames()) {
		t.Errorf("%s has %d rails: %v", p.Name, n, p.Annotations)
	}
	for _, rail := range railNames() {
		if n := train.Resources.Limits[corev1.ResourceName("openshift.io/"+rail+"rdma")]; n.Value() != 1 {
			t.Errorf("%s requests %s of %s", p.Name, n.String(), rail)
		}
	}
	files := func(c corev1.Container) bool { return c.Name == "railhead-pod-files" }
	mode := func(e corev1.EnvVar) bool { return e.Name == "RAILHEAD_MODE" && e.Value == "rdma" }
	writer := train
	if i := slices.IndexFunc(p.Spec.InitContainers, files); i >= 0 {
		writer = p.Spec.InitContainers[i]
	}
	if !slices.ContainsFunc(p.Spec.InitContainers, installs) || !slices.ContainsFunc(writer.Env, mode) ||
		slices.ContainsFunc(p.Spec.InitContainers, files) != s.files {
		t.Errorf("%s lacks its delivery: environment %v, init containers %v", p.Name, writer.Env, p.Spec.InitContainers)
	}
	wrapped := slices.Contains(train.Command, "/railhead/bin/railhead-pod")
	conf := slices.ContainsFunc(train.VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == "/etc/nccl.conf" })
	if wrapped == s.files || conf != s.files {
		t.Errorf("%s: command %q, mounts %v", p.Name, train.Command, train.VolumeMounts)
	}
	if shm := slices.ContainsFunc(train.VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == "/dev/shm" }); !shm {
		t.Errorf("%s has no /dev/shm: %v", p.Name, train.VolumeMounts)
	}
}
