package e2e_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/railhead/railhead/internal/workload"
	"github.com/railhead/railhead/lab/controlplane/assets"
)

// workloadStory is a workload as the project of its controller shows it.
type workloadStory struct {
	name     string // as commands take it
	program  assets.Program
	examples []string // files of the controller's module
	change   []string // what is changed in them: old and new texts
	manifest string   // after them
	flags    []string // of inject
	train    string   // container that trains, in pods with rails
	pods     []string // patterns of the names of the pods, by rank
	without  int      // number of pods without rails
	helpers  int      // number of pods that do not train: the last
	files    bool     // the settings are in files: railhead-pod does not start the command
	// then runs after the manifest was applied, before there are pods.
	then func(t *testing.T, u user, ns string)
}

// tell holds every command to a workload: inject and kubectl apply give it rails, its controller makes pods, and
// commands know it by its name.
func (s workloadStory) tell(t *testing.T, u user, ns string) {
	open := closeNodes(t)
	manifest := s.inject(t, u, ns)
	if s.then != nil {
		s.then(t, u, ns)
	}
	s.waits(t, u, ns)
	open()
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
	u.does(t, "status", s.name, "-n", ns).prints(t, "Running")
	diagnosis := u.ends(t, 1, "doctor", s.name, "-n", ns) // the machine of the test has no RDMA device
	title := "Job " + s.name
	if name, ok := strings.CutPrefix(s.name, "pod/"); ok {
		title = "Pod " + name
	}
	diagnosis.prints(t, title+" in namespace "+ns, "[device-allocated]")
	if strings.Contains(diagnosis.out, "[injection-kept]") {
		t.Errorf("doctor misses a part of the injection where nothing was erased:\n%s", diagnosis.out)
	}
	checking := u
	checking.stdin = manifest
	checking.does(t, s.injects(ns, "--check")...)
	s.restarts(t, u, ns, pods)
	_, remove, _ := strings.Cut(u.ends(t, 1, "delete", s.name, "-n", ns, "--yes").silent(t).err, "To delete it: kubectl ")
	kubectlProgram(t, u)("", strings.Fields(remove)...)
	eventually(t, "the pods are gone", func() error {
		if left := podsIn(t, ns); len(left) > 0 {
			return fmt.Errorf("%d pods, the first is %s", len(left), left[0].Name)
		}
		return nil
	})
}

// closeNodes keeps pods from all nodes, until the function that it returns is called. The pods of DaemonSets come
// anyway.
func closeNodes(t *testing.T) (open func()) {
	t.Helper()
	c := openShift.Client()
	var nodes corev1.NodeList
	if err := c.List(t.Context(), &nodes); err != nil {
		t.Fatal(err)
	}
	set := func(closed bool) {
		for _, n := range nodes.Items {
			patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"spec":{"unschedulable":%t}}`, closed))
			if err := c.Patch(context.Background(), n.DeepCopy(), patch); err != nil {
				t.Errorf("node %s: %v", n.Name, err)
			}
		}
	}
	set(true)
	open = sync.OnceFunc(func() { set(false) })
	t.Cleanup(open)
	return open
}

// waits wants status and doctor to say that pods wait, by their output and exit codes.
func (s workloadStory) waits(t *testing.T, u user, ns string) {
	t.Helper()
	if strings.HasPrefix(s.name, "daemonset/") {
		return
	}
	eventually(t, "a pod waits for a node", func() error {
		pods := podsIn(t, ns)
		if !slices.ContainsFunc(pods, func(p corev1.Pod) bool {
			return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
				return c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse
			})
		}) {
			return fmt.Errorf("%d pods", len(pods))
		}
		return nil
	})
	u.ends(t, 1, "status", s.name, "-n", ns).prints(t, "Pending")
	u.ends(t, 3, "doctor", s.name, "-n", ns).prints(t, "were unschedulable [node-selection]", "[pod-pending]",
		"what does not run was not examined")
}

// restarts wants restart to replace the pods where their controller makes deleted pods again, and to refuse elsewhere.
func (s workloadStory) restarts(t *testing.T, u user, ns string, before []corev1.Pod) {
	t.Helper()
	ref, err := workload.ParseRef(s.name)
	if err != nil {
		t.Fatal(err)
	}
	restart := []string{"restart", s.name, "-n", ns, "--yes"}
	if !slices.Contains(workload.Recreating(), ref.Kind) {
		u.ends(t, 1, restart...).silent(t).says(t, "the pods of "+s.name+" cannot be restarted",
			"kubectl -n "+ns+" delete "+s.name)
		return
	}
	u.ends(t, 1, restart...).silent(t).says(t, "the pods run a command of their own", "--force")
	u.does(t, append(restart, "--force")...).silent(t)
	for _, p := range s.made(t, ns) {
		if slices.ContainsFunc(before, func(b corev1.Pod) bool { return b.UID == p.UID }) {
			t.Errorf("restart keeps %s", p.Name)
		}
		if i := s.trains(p); i >= 0 {
			s.hasRails(t, p, p.Spec.Containers[i])
		}
	}
}

// injects returns the command line of inject for the manifest on stdin.
func (s workloadStory) injects(ns string, more ...string) []string {
	command := []string{"inject", "-f", "-", "-n", ns, "--pod-binary=amd64=" + podBinary}
	return slices.Concat(command, more, s.flags)
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
		change := append([]string{"namespace: kubeflow\n", "namespace: " + ns + "\n"}, s.change...)
		manifest = strings.NewReplacer(change...).Replace(text) + manifest
	}
	u.stdin = manifest
	injected := u.does(t, s.injects(ns)...)
	for _, line := range lostLines(manifest, injected.out) {
		field, _, _ := strings.Cut(strings.TrimLeft(line, " -"), ":")
		if field != "command" && field != "args" && !strings.Contains(line, ": {") { // inject adds to these lines
			t.Errorf("inject does not keep %q", line)
		}
	}
	u.stdin = injected.out
	if again := u.does(t, s.injects(ns)...); again.out != injected.out {
		t.Errorf("injected once and twice (-once +twice):\n%s", cmp.Diff(injected.out, again.out))
	}
	kubectlProgram(t, u)(injected.out, "apply", "-n", ns, "-f", "-")
	return manifest
}

// lostLines returns the lines of a manifest that are not in what inject made of it, in their order.
func lostLines(manifest, injected string) (lost []string) {
	after := strings.Split(injected, "\n")
	for line := range strings.Lines(manifest) {
		line = strings.TrimSuffix(line, "\n")
		if i := slices.Index(after, line); i >= 0 {
			after = after[i+1:]
		} else {
			lost = append(lost, line)
		}
	}
	return lost
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
	mounts := func(path string) bool {
		return slices.ContainsFunc(train.VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == path })
	}
	if wrapped == s.files || mounts("/etc/nccl.conf") != s.files {
		t.Errorf("%s: command %q, mounts %v", p.Name, train.Command, train.VolumeMounts)
	}
	if !mounts("/dev/shm") {
		t.Errorf("%s has no /dev/shm: %v", p.Name, train.VolumeMounts)
	}
}
