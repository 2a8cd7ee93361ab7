package e2e_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	networksv1 "github.com/k8snetworkplumbingwg/network-attachment-definition-client/pkg/apis/k8s.cni.cncf.io/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/railhead/railhead/lab/controlplane"
)

// deploy is the command line that deploys a job.
func deploy(name, namespace string, more ...string) []string {
	return append([]string{
		"deploy", name, "-n", namespace, "--image=example.invalid/pytorch:2.9", "--pod-binary=amd64=" + podBinary, "--yes",
	}, more...)
}

// engineer is a user who administers namespaces that are made ready for training, and may read the cluster.
func engineer(t *testing.T, name string, namespaces ...string) user {
	t.Helper()
	readsAll(t, openShift, name)
	for _, ns := range namespaces {
		trains(t, ns, name)
	}
	return as(t, openShift, name)
}

// podsOf are the pods of a job, by name.
func podsOf(t *testing.T, p *controlplane.ControlPlane, namespace, job string) []corev1.Pod {
	t.Helper()
	var pods corev1.PodList
	err := p.Client().List(t.Context(), &pods, client.InNamespace(namespace), client.MatchingLabels{"app.kubernetes.io/instance": job})
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(pods.Items, func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return pods.Items
}

// objectsOf are the objects of a namespace that jobs are made of.
func objectsOf(t *testing.T, p *controlplane.ControlPlane, namespace string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, list := range []client.ObjectList{
		&corev1.ConfigMapList{}, &corev1.ServiceList{}, &appsv1.StatefulSetList{}, &corev1.ServiceAccountList{}, &corev1.SecretList{},
		&networksv1.NetworkAttachmentDefinitionList{},
	} {
		maps.Copy(all, versionsOf(t, p.Client(), list, client.InNamespace(namespace)))
	}
	return all
}

// TestDeploy: a user makes a job on two nodes with every rail and no privilege, sees it, and takes it away.
func TestDeploy(t *testing.T) {
	const ns = "train"
	setUp(t)
	u := engineer(t, "h-kim", ns)
	c := openShift.Client()
	own := &corev1.ConfigMap{ObjectMeta: meta(ns, "mine"), Data: map[string]string{"kept": "yes"}}
	create(t, c, own)
	eventually(t, "the namespace is furnished", func() error {
		return c.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "kube-root-ca.crt"}, &corev1.ConfigMap{})
	})
	before := objectsOf(t, openShift, ns)
	t.Run("shown", func(t *testing.T) {
		u.does(t, deploy("h-kim", ns, "--dry-run=client")...).silent(t).says(t, "Plan: Deploy h-kim in namespace train: 2 pods on separate nodes, RDMA over 4 rails",
			"The pods need no privileges: the container runtime of the nodes lets them lock memory (the MachineConfig of `railhead setup cluster`)")
		u.does(t, deploy("h-kim", ns, "--dry-run=server")...).silent(t).says(t, "created StatefulSet h-kim (dry run)")
		accepted(t, asUser(t, openShift, "h-kim"), documents(t, u.does(t, deploy("h-kim", ns, "-o", "yaml")...).out))
		if after := objectsOf(t, openShift, ns); !maps.Equal(before, after) {
			t.Errorf("objects %v, before %v", after, before)
		}
	})
	u.does(t, deploy("h-kim", ns)...).silent(t).says(t, "h-kim: 2 of 2 pods ready", "Start the training with: railhead launch h-kim -n train -- COMMAND")
	pods := podsOf(t, openShift, ns, "h-kim")
	if len(pods) != 2 || pods[0].Spec.NodeName == pods[1].Spec.NodeName {
		t.Fatalf("pods %v", pods)
	}
	for _, p := range pods {
		leastPrivilege(t, p)
		wholeNode(t, p)
	}
	t.Run("a second time", func(t *testing.T) {
		before := objectsOf(t, openShift, ns)
		u.does(t, deploy("h-kim", ns)...).silent(t).says(t, "Nothing to do")
		if after := objectsOf(t, openShift, ns); !maps.Equal(before, after) {
			t.Errorf("objects %v, before %v", after, before)
		}
	})
	t.Run("in another shape", func(t *testing.T) {
		u.ends(t, 1, deploy("h-kim", ns, "--type=single")...).silent(t).says(t, "h-kim already exists with another --type", "railhead delete h-kim -n train")
		r := u.does(t, deploy("h-kim", ns, "-e", "NCCL_DEBUG=INFO", "--dry-run=client")...)
		r.says(t, "h-kim already runs and will change: its pods restart", "RESTARTS the pods")
	})
	t.Run("seen", func(t *testing.T) { seenJob(t, u, ns) })
	t.Run("two jobs share railhead-pod", func(t *testing.T) {
		u.does(t, deploy("tcp", ns, "--mode=tcp", "--type=single", "--gpus=0")...).silent(t).says(t, "tcp: 1 of 1 pod ready")
		if r := u.does(t, "delete", "h-kim", "-n", ns, "--yes").silent(t); strings.Contains(r.err, "deleted ConfigMap") {
			t.Errorf("tcp needs them:\n%s", r.err)
		}
		u.does(t, "delete", "tcp", "-n", ns, "--yes").silent(t).says(t, "deleted ConfigMap railhead-pod-amd64-")
		eventually(t, "all is as before", func() error {
			if after := objectsOf(t, openShift, ns); !maps.Equal(before, after) {
				return fmt.Errorf("objects %v, before %v", after, before)
			}
			return nil
		})
		u.ends(t, 1, "delete", "tcp", "-n", ns, "--yes").silent(t).says(t, "namespace train has no job tcp that railhead deployed")
		u.ends(t, 1, "status", "tcp", "-n", ns).silent(t).says(t, "there is no job tcp in namespace train")
	})
}

// TestDeployChanged: a job that is changed while it runs is done when its pods are the new ones.
func TestDeployChanged(t *testing.T) {
	const ns, image = "changed", "example.invalid/pytorch:3.0"
	setUp(t)
	u := engineer(t, "y-tanaka", ns)
	u.does(t, deploy("job", ns)...)
	before := podsOf(t, openShift, ns, "job")
	r := u.does(t, deploy("job", ns, "--image="+image)...).silent(t)
	r.says(t, "job already runs and will change: its pods restart", "configured StatefulSet job", "outdated: it will be replaced", "job: 2 of 2 pods ready")
	after := podsOf(t, openShift, ns, "job")
	if len(after) != 2 {
		t.Fatalf("pods %v", after)
	}
	for i, p := range after {
		ready := slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue })
		if p.UID == before[i].UID || p.Spec.Containers[0].Image != image || !ready {
			t.Errorf("%s: uid %s (before %s), image %s, ready %v", p.Name, p.UID, before[i].UID, p.Spec.Containers[0].Image, ready)
		}
	}
	u.does(t, deploy("job", ns, "--image="+image)...).silent(t).says(t, "Nothing to do")
	t.Run("a flag that is gone", func(t *testing.T) {
		team := func() (all []string) {
			for _, p := range podsOf(t, openShift, ns, "job") {
				all = append(all, p.Labels["team"])
			}
			return all
		}
		u.does(t, deploy("job", ns, "--image="+image, "--label=team=speech", "--cpu=2")...).silent(t)
		if got := team(); !slices.Equal(got, []string{"speech", "speech"}) {
			t.Errorf("labels %q", got)
		}
		r := u.does(t, deploy("job", ns, "--image="+image)...).silent(t)
		r.says(t, "job already runs and will change: its pods restart", "configured StatefulSet job")
		if got := team(); !slices.Equal(got, []string{"", ""}) {
			t.Errorf("labels %q", got)
		}
		u.does(t, deploy("job", ns, "--image="+image)...).silent(t).says(t, "Nothing to do")
	})
	u.does(t, "delete", "job", "-n", ns, "--yes").silent(t)
}

// leastPrivilege wants a pod to have been admitted under what setup granted or what everybody may use, and to be
// nothing more than RDMA needs.
func leastPrivilege(t *testing.T, p corev1.Pod) {
	t.Helper()
	if scc := p.Annotations["openshift.io/scc"]; scc != railheadSCC && scc != "restricted-v2" {
		t.Errorf("%s was admitted by SCC %q", p.Name, scc)
	}
	if p.Spec.HostNetwork || p.Spec.HostPID || p.Spec.HostIPC || p.Spec.AutomountServiceAccountToken == nil || *p.Spec.AutomountServiceAccountToken {
		t.Errorf("%s: %+v", p.Name, p.Spec)
	}
	if p.Spec.ServiceAccountName != "railhead-sa" || p.Spec.SecurityContext.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
		t.Errorf("%s: account %s, %+v", p.Name, p.Spec.ServiceAccountName, p.Spec.SecurityContext)
	}
	for _, c := range slices.Concat(p.Spec.InitContainers, p.Spec.Containers) {
		s := c.SecurityContext
		if s == nil || s.Privileged != nil && *s.Privileged || s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation ||
			s.Capabilities == nil || len(s.Capabilities.Add) > 0 || !slices.Equal(s.Capabilities.Drop, []corev1.Capability{"ALL"}) ||
			s.RunAsUser == nil || *s.RunAsUser < 1000000000 {
			t.Errorf("%s, container %s: %+v", p.Name, c.Name, s)
		}
	}
	for _, v := range p.Spec.Volumes {
		if v.HostPath != nil {
			t.Errorf("%s: volume %s is of the host", p.Name, v.Name)
		}
	}
}

// wholeNode wants a pod to have all GPUs and rails of its node, and what launchers read.
func wholeNode(t *testing.T, p corev1.Pod) {
	t.Helper()
	const networks = "train-eno5np0,train-eno6np0,train-eno7np0,train-eno8np0"
	if got := p.Annotations["k8s.v1.cni.cncf.io/networks"]; got != networks {
		t.Errorf("%s has networks %q", p.Name, got)
	}
	train := p.Spec.Containers[0]
	want := map[string]int64{"nvidia.com/gpu": 8}
	for _, rail := range railNames() {
		want["openshift.io/"+rail+"rdma"] = 1
	}
	for name, n := range want {
		if got := train.Resources.Limits[corev1.ResourceName(name)]; got.Value() != n {
			t.Errorf("%s asks for %s of %s", p.Name, got.String(), name)
		}
	}
	env := map[string]string{}
	for _, v := range train.Env {
		env[v.Name] = v.Value
		if v.ValueFrom != nil {
			env[v.Name] = v.ValueFrom.FieldRef.FieldPath
		}
	}
	for name, value := range map[string]string{
		"MASTER_ADDR": "h-kim-0.h-kim-headless.train.svc", "MASTER_PORT": "29500", "NNODES": "2", "NPROC_PER_NODE": "8", "WORLD_SIZE": "16",
		"NODE_RANK": "metadata.labels['apps.kubernetes.io/pod-index']", "PET_NNODES": "2", "RAILHEAD_MODE": "rdma",
	} {
		if env[name] != value {
			t.Errorf("%s: %s=%q, want %q", p.Name, name, env[name], value)
		}
	}
	if p.Labels["apps.kubernetes.io/pod-index"] != p.Name[len(p.Name)-1:] {
		t.Errorf("%s has labels %v", p.Name, p.Labels)
	}
	if !slices.Equal(train.Command[:3], []string{"/railhead/bin/railhead-pod", "run", "--"}) {
		t.Errorf("%s runs %q", p.Name, train.Command)
	}
	shm := slices.IndexFunc(p.Spec.Volumes, func(v corev1.Volume) bool {
		return v.EmptyDir != nil && v.EmptyDir.Medium == corev1.StorageMediumMemory && v.EmptyDir.SizeLimit != nil
	})
	if shm < 0 || p.Spec.Volumes[shm].EmptyDir.SizeLimit.Cmp(resource.MustParse("64Gi")) != 0 {
		t.Errorf("%s has volumes %v", p.Name, p.Spec.Volumes)
	}
}

// seenJob looks at the job in every form.
func seenJob(t *testing.T, u user, ns string) {
	r := u.does(t, "status", "h-kim", "-n", ns)
	r.prints(t, "h-kim-0", "h-kim-1", "Running", "gpu-0", "gpu-1", railheadSCC)
	var status struct {
		Job, Namespace string
		Wanted         int
		Pods           []struct {
			Name, Node, SCC string
			Ready           bool
		}
	}
	if err := json.Unmarshal([]byte(u.does(t, "status", "h-kim", "-n", ns, "-o", "json").out), &status); err != nil {
		t.Fatal(err)
	}
	if status.Job != "h-kim" || status.Wanted != 2 || len(status.Pods) != 2 || !status.Pods[1].Ready || status.Pods[1].SCC != railheadSCC {
		t.Errorf("status %+v", status)
	}
	var inventory struct {
		Nodes []struct {
			Name     string
			GPUs     int
			GPUsFree *int
			RDMA     map[string]int
		}
		Rails map[string][]struct{ Network, Resource string }
	}
	if err := json.Unmarshal([]byte(u.does(t, "inventory", "-o", "json").out), &inventory); err != nil {
		t.Fatal(err)
	}
	if len(inventory.Nodes) != 16 || len(inventory.Rails[ns]) != 4 || len(inventory.Rails["default"]) != 4 {
		t.Errorf("inventory %+v", inventory)
	}
	for _, n := range inventory.Nodes {
		if strings.HasPrefix(n.Name, "gpu-") && (n.GPUs != 8 || n.GPUsFree == nil || *n.GPUsFree != 0 || len(n.RDMA) != 4) {
			t.Errorf("node %+v", n)
		}
	}
	u.does(t, "inventory").prints(t, "gpu-0", "NVIDIA-H100-80GB-HBM3", "and 14 nodes without GPU and RDMA", "train-eno5np0", "railhead-rdma")
	if len(documents(t, u.does(t, "inventory", "-o", "yaml").out)) != 1 {
		t.Error("inventory -o yaml is no document")
	}
}

// TestDeployRefused: what stands in the way is said before anything is written.
func TestDeployRefused(t *testing.T) {
	const ns, other = "crowded", "elsewhere"
	setUp(t)
	u := engineer(t, "m-lee", ns, other)
	c := openShift.Client()
	refused := func(t *testing.T, args []string, texts ...string) {
		t.Helper()
		before := objectsOf(t, openShift, ns)
		u.ends(t, 1, args...).silent(t).says(t, append(texts, "nothing was written")...)
		if after := objectsOf(t, openShift, ns); !maps.Equal(before, after) {
			t.Errorf("objects %v, before %v", after, before)
		}
	}
	t.Run("too few nodes", func(t *testing.T) {
		refused(t, deploy("big", ns, "--nodes=3"), "big needs 3 nodes with 8 nvidia.com/gpu and 4 rails free; 2 of 16 nodes qualify", "no nvidia.com/gpu")
	})
	t.Run("nodes that are taken", func(t *testing.T) {
		u.does(t, deploy("first", other)...)
		refused(t, deploy("second", ns), "0 of 16 nodes qualify", "node/gpu-0: 0 of 8 nvidia.com/gpu free, held by elsewhere/first-")
		u.does(t, "delete", "first", "-n", other, "--yes")
		u.does(t, deploy("second", ns)...)
		u.does(t, "delete", "second", "-n", ns, "--yes")
	})
	t.Run("auto falls back to TCP and says why", func(t *testing.T) {
		u.does(t, deploy("auto", ns, "--mode=auto", "--dry-run=client")...).says(t, "Mode auto uses RDMA: found 2 free nodes with 4 rails of namespace crowded")
		u.does(t, deploy("auto", "default", "--mode=auto", "--dry-run=client", "--nodes=3", "--gpus=0")...).says(t, "Mode auto uses TCP: found 2 free nodes with 4 rails of namespace default, but the job needs 3")
	})
	t.Run("no such namespace", func(t *testing.T) {
		refused(t, deploy("job", "nowhere"), "namespace nowhere does not exist", "railhead setup namespace nowhere")
	})
	t.Run("namespace that is being deleted", func(t *testing.T) {
		terminating(t, "going")
		refused(t, deploy("job", "going"), "namespace going is being deleted")
	})
	t.Run("names", func(t *testing.T) {
		refused(t, deploy("Big_Job", ns), `NAME is "Big_Job", but must be a DNS label`)
		refused(t, deploy(strings.Repeat("long", 20), ns), "80 characters, but must be at most 52 characters")
	})
	t.Run("numbers", func(t *testing.T) {
		refused(t, deploy("job", ns, "--nodes=0"), "--nodes is 0, but must be 1 or more")
		refused(t, deploy("job", ns, "--shm=much"), `--shm is "much"`)
	})
	t.Run("no image", func(t *testing.T) {
		refused(t, deploy("job", ns, "--image="), "--image is missing")
	})
	t.Run("quota", func(t *testing.T) {
		quota := &corev1.ResourceQuota{ObjectMeta: meta(ns, "gpus"), Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{
			"requests.nvidia.com/gpu": resource.MustParse("8"),
		}}}
		create(t, c, quota)
		eventually(t, "the quota counts", func() error {
			if len(get(t, c, quota).Status.Hard) == 0 {
				return fmt.Errorf("no status")
			}
			return nil
		})
		refused(t, deploy("job", ns), "quota gpus of namespace crowded has 8 requests.nvidia.com/gpu left, but the job needs 16")
		if err := c.Delete(t.Context(), quota); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("attachment with the wrong resource", func(t *testing.T) {
		wrong := &networksv1.NetworkAttachmentDefinition{ObjectMeta: meta(ns, "eno9np0")}
		wrong.Annotations = map[string]string{"k8s.v1.cni.cncf.io/resourceName": "openshift.io/eno9np0rdma"}
		wrong.Spec.Config = `{"cniVersion":"0.3.1","name":"eno9np0","type":"sriov"}`
		create(t, c, wrong)
		refused(t, deploy("job", ns), "pods get no RDMA device through attachment eno9np0", "openshift.io/eno9np0rdma")
		u.ends(t, 1, "inventory", "-n", ns).says(t, "eno9np0")
		if err := c.Delete(t.Context(), wrong); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("attachment that is not there", func(t *testing.T) {
		refused(t, deploy("job", ns, "--network=crowded-eno5np", "--network=crowded-eno6np0"), "has no network attachment crowded-eno5np", "Did you mean crowded-eno5np0")
	})
	t.Run("privileges that the account does not have", func(t *testing.T) {
		refused(t, deploy("job", ns, "--memlock=ipc-lock"), "service account railhead-sa may use no SCC that allows IPC_LOCK and root", "railhead setup cluster --allow-ipc-lock")
		refused(t, deploy("job", ns, "--privileged"), "service account railhead-sa may use no SCC that allows privileged containers")
		refused(t, deploy("job", ns, "--scc=privileged"), "service account railhead-sa of namespace crowded may not use SCC privileged")
		refused(t, deploy("job", ns, "--service-account=nobody"), "namespace crowded has no service account nobody")
	})
}
