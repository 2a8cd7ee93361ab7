package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	networksv1 "github.com/k8snetworkplumbingwg/network-attachment-definition-client/pkg/apis/k8s.cni.cncf.io/v1"
	machineconfigv1 "github.com/openshift/api/machineconfiguration/v1"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/railhead/railhead/internal/host/replay"
	"github.com/railhead/railhead/internal/host/sysfs"
	"github.com/railhead/railhead/internal/rules"
	"github.com/railhead/railhead/lab/controlplane/kubelet"
)

// recorded is the snapshot of a recorded machine, as JSON.
func recorded(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../../testdata/hosts", name+".txtar"))
	if err != nil {
		t.Fatal(err)
	}
	archive, err := replay.Parse(string(text))
	if err != nil {
		t.Fatal(err)
	}
	machine, err := sysfs.Recorded(archive)
	if err != nil {
		t.Fatal(err)
	}
	snapshot, err := json.Marshal(machine.Snapshot())
	if err != nil {
		t.Fatal(err)
	}
	return string(snapshot)
}

// answering is a kubelet in whose pods railhead-pod is, and sees the snapshots; a pod without one has no railhead-pod.
func answering(t *testing.T, snapshots map[string]string) *kubelet.Kubelet {
	t.Helper()
	dir := t.TempDir()
	for pod, snapshot := range snapshots {
		own := filepath.Join(dir, pod)
		if err := os.MkdirAll(own, 0o755); err != nil {
			t.Fatal(err)
		}
		for name, content := range map[string]string{"snapshot.json": snapshot, "railhead-pod": "#!/bin/sh\nexec cat " + own + "/snapshot.json\n"} {
			if err := os.WriteFile(filepath.Join(own, name), []byte(content), 0o700); err != nil {
				t.Fatal(err)
			}
		}
	}
	return &kubelet.Kubelet{
		Command: func(ctx context.Context, c kubelet.Container, words []string) *exec.Cmd {
			for i, word := range words {
				if word == "/railhead/bin/railhead-pod" {
					words[i] = filepath.Join(dir, c.Pod, "railhead-pod")
				}
			}
			cmd := exec.CommandContext(ctx, words[0], words[1:]...)
			cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + t.TempDir()}, environment(ctx, c)...)
			return cmd
		},
		Log: func(kubelet.Container) string {
			return "login with hunter2\nnode:1:1 [0] NCCL INFO Using network IB\n"
		},
	}
}

// diagnosis reads what doctor printed as JSON.
func diagnosis(t *testing.T, r result) rules.Diagnosis {
	t.Helper()
	var d rules.Diagnosis
	if err := json.Unmarshal([]byte(r.out), &d); err != nil {
		t.Fatalf("%v\n%s", err, r.out)
	}
	return d
}

// found are the status and the check of every problem, in order.
func found(d rules.Diagnosis) []string {
	var all []string
	for _, p := range d.Problems {
		all = append(all, p.Status.String()+" "+string(p.Check))
	}
	return all
}

// TestDoctor: doctor looks into the pods of a job and at the cluster, and says what is wrong.
func TestDoctor(t *testing.T) {
	const ns = "examined"
	setUp(t)
	u := engineer(t, "d-house", ns)
	u.does(t, deploy("job", ns)...)
	healthy := map[string]string{"job-0": recorded(t, "pod-roce-4vf"), "job-1": recorded(t, "pod-roce-4vf-node-b")}
	doctor := func(more ...string) []string { return append([]string{"doctor", "job", "-n", ns}, more...) }
	t.Run("healthy", func(t *testing.T) {
		serves(t, answering(t, healthy), "gpu-0", "gpu-1")
		r := u.does(t, doctor()...)
		r.prints(t, "Job job in namespace examined: 2 pods examined", "Nothing is wrong")
		r.says(t, "Examining 2 pods")
	})
	t.Run("archive", func(t *testing.T) {
		sick := map[string]string{"job-0": healthy["job-0"], "job-1": recorded(t, "pod-half-broken")}
		serves(t, answering(t, sick), "gpu-0", "gpu-1")
		file := filepath.Join(t.TempDir(), "job.tgz")
		live := u.ends(t, 1, doctor("--save", file, "--logs", "-o", "json")...)
		live.says(t, "Saved to "+file)
		offline := user{}.ends(t, 1, "doctor", "--from", file, "-o", "json")
		if live.out != offline.out {
			t.Errorf("the verdicts differ:\n%s\n--- from the archive:\n%s", live.out, offline.out)
		}
		if d := diagnosis(t, live); len(d.Problems) == 0 || d.Pods != 2 {
			t.Errorf("%+v", d)
		}
		text, err := exec.Command("tar", "-xzOf", file).Output()
		if err != nil || strings.Contains(string(text), "hunter2") || !strings.Contains(string(text), "Using network IB") {
			t.Errorf("the logs of the archive: %v", err)
		}
	})
	t.Run("pod that does not answer", func(t *testing.T) {
		k := answering(t, healthy)
		there := k.Command
		k.Command = func(ctx context.Context, c kubelet.Container, words []string) *exec.Cmd {
			if c.Pod == "job-1" {
				return exec.CommandContext(ctx, "sleep", "3600")
			}
			return there(ctx, c, words)
		}
		serves(t, k, "gpu-0", "gpu-1")
		r := u.ends(t, 3, doctor("--timeout=30s", "-o", "json")...) // enough for the pod that answers
		d := diagnosis(t, r)
		if got := found(d); !slices.Equal(got, []string{"unknown machine-reached"}) || !strings.Contains(d.Problems[0].Summary, "no answer within 30s") || d.Pods != 1 {
			t.Errorf("found %q: %+v", got, d.Problems)
		}
	})
	t.Run("pod without railhead-pod", func(t *testing.T) {
		serves(t, answering(t, map[string]string{"job-0": healthy["job-0"]}), "gpu-0", "gpu-1")
		d := diagnosis(t, u.railhead(t, doctor("-o", "json", "--pod-binary=amd64="+podBinary)...))
		if d.Pods != 2 {
			t.Errorf("%d pods were looked at: %+v", d.Pods, d.Problems)
		}
	})
	t.Run("Ctrl-C", func(t *testing.T) {
		k := answering(t, nil)
		k.Command = func(ctx context.Context, _ kubelet.Container, _ []string) *exec.Cmd {
			return exec.CommandContext(ctx, "sleep", "3600")
		}
		serves(t, k, "gpu-0", "gpu-1")
		u := u
		u.heard = func(line string, interrupt context.CancelFunc) {
			if strings.HasPrefix(line, "Examining") {
				interrupt()
			}
		}
		u.ends(t, 130, doctor()...).silent(t)
	})
	t.Run("namespace and pod", func(t *testing.T) {
		serves(t, answering(t, healthy), "gpu-0", "gpu-1")
		u.does(t, "doctor", "-n", ns).prints(t, "Namespace examined: 2 pods examined")
		u.does(t, "doctor", "pod/job-1", "-n", ns).prints(t, "Pod job-1 in namespace examined: 1 pod examined")
		u.ends(t, 3, "doctor", "pod/job-9", "-n", ns).says(t, "there is no such pod: job-9 in namespace examined")
		u.ends(t, 3, "doctor", "jobs", "-n", ns).says(t, "did you mean job?")
	})
	t.Run("paused pool", func(t *testing.T) {
		serves(t, answering(t, healthy), "gpu-0", "gpu-1")
		patchWorkers(t, func(p *machineconfigv1.MachineConfigPool) { p.Spec.Paused = true })
		defer patchWorkers(t, func(p *machineconfigv1.MachineConfigPool) { p.Spec.Paused = false })
		d := diagnosis(t, u.does(t, doctor("-o", "json")...))
		if got := found(d); !slices.Equal(got, []string{"warn pool-not-paused"}) {
			t.Errorf("found %q", got)
		}
		u.ends(t, 1, doctor("--fail-on=warn")...).prints(t, "pool worker is paused, and not by Railhead", "oc patch machineconfigpool worker")
		u.ends(t, 1, "doctor", "--cluster", "--fail-on=warn").prints(t, "Cluster: its objects examined", "[pool-not-paused]")
	})
	t.Run("attachment of a resource that no node offers", func(t *testing.T) {
		serves(t, answering(t, healthy), "gpu-0", "gpu-1")
		c := openShift.Client()
		const resource = "openshift.io/eno9np0rdma"
		network := &networksv1.NetworkAttachmentDefinition{ObjectMeta: meta(ns, "eno9np0-network"), Spec: networksv1.NetworkAttachmentDefinitionSpec{Config: `{"type":"sriov"}`}}
		network.Annotations = map[string]string{"k8s.v1.cni.cncf.io/resourceName": resource}
		one := corev1.ResourceList{resource: apiresource.MustParse("1")}
		pod := &corev1.Pod{ObjectMeta: meta(ns, "stray"), Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "train", Image: "example.invalid/train", Resources: corev1.ResourceRequirements{Requests: one, Limits: one},
		}}}}
		pod.Annotations = map[string]string{"k8s.v1.cni.cncf.io/networks": "eno9np0-network"}
		create(t, c, network, pod)
		remove(t, c, network, pod)
		eventually(t, "the pod waits", func() error {
			if conditions := get(t, c, pod).Status.Conditions; len(conditions) == 0 || conditions[0].Reason != corev1.PodReasonUnschedulable {
				return fmt.Errorf("%v", conditions)
			}
			return nil
		})
		d := diagnosis(t, u.ends(t, 1, "doctor", "-n", ns, "-o", "json"))
		if got := found(d); !slices.Equal(got, []string{"fail network-resource"}) || !strings.Contains(d.Problems[0].Summary, "no node offers openshift.io/eno9np0rdma") || len(d.Problems[0].Consequences) != 1 {
			t.Errorf("found %q: %+v", got, d.Problems)
		}
	})
	t.Run("pods with GPUs that ask for no RDMA", func(t *testing.T) {
		without := recorded(t, "pod-no-rdma")
		serves(t, answering(t, map[string]string{"job-0": healthy["job-0"], "job-1": healthy["job-1"], "forgot-0": without, "forgot-1": without}), "gpu-0", "gpu-1")
		one := corev1.ResourceList{"nvidia.com/gpu": apiresource.MustParse("1")}
		var pods []client.Object
		for name, node := range map[string]string{"forgot-0": "gpu-0", "forgot-1": "gpu-1", "notebook": "gpu-1"} {
			pod := &corev1.Pod{ObjectMeta: meta(ns, name), Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{
				Name: "train", Image: "example.invalid/train", Resources: corev1.ResourceRequirements{Requests: one, Limits: one},
			}}}}
			if name != "notebook" {
				pod.Labels = map[string]string{"jobset.sigs.k8s.io/jobset-name": "forgot"}
			}
			pods = append(pods, pod)
		}
		create(t, openShift.Client(), pods...)
		remove(t, openShift.Client(), pods...)
		for _, pod := range pods {
			eventually(t, "pod "+pod.GetName()+" runs", func() error {
				if phase := get(t, openShift.Client(), pod.(*corev1.Pod)).Status.Phase; phase != corev1.PodRunning {
					return fmt.Errorf("%s", phase)
				}
				return nil
			})
		}
		r := u.ends(t, 1, "doctor", "-n", ns)
		r.prints(t, "Namespace examined: 4 pods examined", "not examined, because they request GPUs but no RDMA: notebook", "follows: pod/examined/forgot-0, pod/examined/forgot-1: ")
		d := diagnosis(t, u.ends(t, 1, "doctor", "-n", ns, "-o", "json"))
		if got := found(d); !slices.Equal(got, []string{"fail rdma-requested", "fail memlock-limit"}) || d.Problems[0].Subject.String() != "job/examined/forgot" {
			t.Errorf("found %q: %+v", got, d.Problems)
		}
	})
	t.Run("user who may see the namespace alone", func(t *testing.T) {
		serves(t, answering(t, healthy), "gpu-0", "gpu-1")
		administers(t, openShift, ns, "d-cuddy")
		r := as(t, openShift, "d-cuddy").does(t, doctor()...)
		r.prints(t, "2 pods examined", "Nothing is wrong", "you may not list nodes: an administrator can")
	})
}

// TestDoctorOfNode: a node is looked at by a pod that is removed, whatever happens.
func TestDoctorOfNode(t *testing.T) {
	a := admin(t, openShift)
	machine := recorded(t, "host-baremetal-8x400")
	serves(t, &kubelet.Kubelet{Log: func(kubelet.Container) string { return machine }}, "gpu-0")
	args := []string{"doctor", "node/gpu-0", "-n", "default", "--probe-image=example.invalid/shell", "--pod-binary=amd64=" + podBinary}
	t.Run("Ctrl-C", func(t *testing.T) {
		a := a
		a.heard = func(line string, interrupt context.CancelFunc) {
			if strings.HasPrefix(line, "Examining") {
				go func() { // once its pod is there
					defer interrupt()
					for range time.Tick(50 * time.Millisecond) {
						var pods corev1.PodList
						probes := client.MatchingLabels{"app.kubernetes.io/component": "probe"}
						if openShift.Client().List(t.Context(), &pods, client.InNamespace("default"), probes) != nil || len(pods.Items) > 0 {
							return
						}
					}
				}()
			}
		}
		a.ends(t, 130, args...).silent(t)
		nothingLeft(t)
	})
	probesEnd(t)
	t.Run("looked at", func(t *testing.T) {
		d := diagnosis(t, a.railhead(t, append(args, "-o", "json")...))
		if d.Nodes != 1 {
			t.Errorf("%+v", d)
		}
		nothingLeft(t)
	})
	t.Run("no such node", func(t *testing.T) {
		a.ends(t, 3, "doctor", "node/gpu-99", "-n", "default", "--pod-binary=amd64="+podBinary).prints(t, "node/gpu-99: could not be examined: there is no such node")
	})
}

// TestDoctorOfMany: a thousand pods are visited, 128 at once, and Ctrl-C ends it.
func TestDoctorOfMany(t *testing.T) {
	if testing.Short() {
		t.Skip("it makes a thousand pods")
	}
	const ns, pods, atOnce = "many", 1000, 128
	a := admin(t, openShift)
	namespace(t, openShift, ns)
	crowd(t, ns, pods)
	snapshot := filepath.Join(t.TempDir(), "snapshot.json")
	if err := os.WriteFile(snapshot, []byte(recorded(t, "pod-roce-4vf")), 0o600); err != nil {
		t.Fatal(err)
	}
	k := &kubelet.Kubelet{Command: func(ctx context.Context, _ kubelet.Container, _ []string) *exec.Cmd {
		return exec.CommandContext(ctx, "cat", snapshot)
	}}
	serves(t, k, crowded)
	d := diagnosis(t, a.railhead(t, "doctor", "-n", ns, "--timeout=5m", "-o", "json"))
	if d.Pods != pods || k.AtOnce() > atOnce || k.AtOnce() < 2 {
		t.Errorf("%d pods were looked at, %d at once: %+v", d.Pods, k.AtOnce(), d.Problems)
	}
	slow := &kubelet.Kubelet{Command: func(ctx context.Context, _ kubelet.Container, _ []string) *exec.Cmd {
		return exec.CommandContext(ctx, "sleep", "3600")
	}}
	serves(t, slow, crowded)
	a.heard = func(line string, interrupt context.CancelFunc) {
		if strings.HasPrefix(line, "Examining 1000 pods") {
			go func() { // once commands run in several
				defer interrupt()
				for slow.AtOnce() < 2 && t.Context().Err() == nil {
					<-time.After(10 * time.Millisecond)
				}
			}()
		}
	}
	a.ends(t, 130, "doctor", "-n", ns, "--timeout=1h").silent(t).says(t, "Interrupted: ")
	if slow.AtOnce() > atOnce {
		t.Errorf("%d at once", slow.AtOnce())
	}
}

// crowded is a node that no job is to find free.
const crowded = "cpu-10"

// crowd puts pods with a VF onto a node, until the test ends.
func crowd(t *testing.T, ns string, n int) {
	t.Helper()
	t.Cleanup(func() {
		if err := openShift.Client().DeleteAllOf(context.Background(), &corev1.Pod{}, client.InNamespace(ns), client.GracePeriodSeconds(0)); err != nil {
			t.Error(err)
		}
	})
	const makers = 16
	c := openShift.Client()
	one := corev1.ResourceList{"openshift.io/eno5np0rdma": apiresource.MustParse("1")}
	var g errgroup.Group
	g.SetLimit(makers)
	for i := range n {
		g.Go(func() error {
			return c.Create(t.Context(), &corev1.Pod{ObjectMeta: meta(ns, fmt.Sprintf("pod-%04d", i)), Spec: corev1.PodSpec{
				NodeName: crowded, Containers: []corev1.Container{{
					Name: "main", Image: "example.invalid/main", Resources: corev1.ResourceRequirements{Requests: one, Limits: one},
				}},
			}})
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "all pods run", func() error {
		var pods corev1.PodList
		if err := c.List(t.Context(), &pods, client.InNamespace(ns)); err != nil {
			return err
		}
		running := 0
		for _, p := range pods.Items {
			if len(p.Status.ContainerStatuses) > 0 && p.Status.ContainerStatuses[0].State.Running != nil {
				running++
			}
		}
		if running < n {
			return fmt.Errorf("%d of %d", running, n)
		}
		return nil
	})
}
