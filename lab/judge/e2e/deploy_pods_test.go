package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	networksv1 "github.com/k8snetworkplumbingwg/network-attachment-definition-client/pkg/apis/k8s.cni.cncf.io/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// marked changes labels or annotations of a namespace, until the test ends.
func marked(t *testing.T, namespace, field, key, value string) {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: meta("", namespace)}
	set := func(ctx context.Context, value any) {
		text, err := json.Marshal(map[string]any{"metadata": map[string]any{field: map[string]any{key: value}}})
		if err == nil {
			err = openShift.Client().Patch(ctx, ns, client.RawPatch(types.MergePatchType, text))
		}
		if err != nil {
			t.Errorf("%s of namespace %s: %v", field, namespace, err)
		}
	}
	set(t.Context(), value)
	t.Cleanup(func() { set(context.Background(), nil) })
}

// securePod says in its container what the level restricted asks for, and leaves the init container's to the program that adds
// one.
const securePod = `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "secure", "namespace": %q}, "spec": {"restartPolicy": "Never",
	"securityContext": {"runAsNonRoot": true}, "containers": [{"name": "train", "image": "example.invalid/pytorch:2.9", "command": ["torchrun", "train.py"],
	"securityContext": {"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}, "seccompProfile": {"type": "RuntimeDefault"}},
	"resources": {"limits": {"nvidia.com/gpu": 8}}}]}}`

// TestPodSecurityLevel: where a namespace of OpenShift has a Pod Security level, what that forbids is said before
// anything is written, and what it allows is admitted.
func TestPodSecurityLevel(t *testing.T) {
	const ns = "strict"
	setUp(t)
	u := engineer(t, "s-ito", ns)
	marked(t, ns, "labels", "pod-security.kubernetes.io/enforce", "restricted")
	u.ends(t, 1, deploy("lock", ns, "--memlock=ipc-lock")...).silent(t).says(t, "namespace strict enforces Pod Security level restricted, which forbids the capability IPC_LOCK [pod-security]",
		"kubectl label --overwrite namespace strict pod-security.kubernetes.io/enforce=privileged", "nothing was written")
	u.ends(t, 1, deploy("lock", ns, "--privileged")...).silent(t).says(t, "which forbids privileged containers [pod-security]", "nothing was written")
	u.does(t, deploy("job", ns)...).silent(t).says(t, "job: 2 of 2 pods ready")
	for _, p := range podsOf(t, openShift, ns, "job") {
		leastPrivilege(t, p)
	}
	u.does(t, "delete", "job", "-n", ns, "--yes").silent(t)
	t.Run("injected", func(t *testing.T) {
		u := u
		u.stdin = fmt.Sprintf(securePod, ns)
		accepted(t, asUser(t, openShift, "s-ito"), documents(t, u.does(t, "inject", "-f", "-", "--pod-binary=amd64="+podBinary).out))
	})
}

// TestRootImages: under an SCC that gives pods no user, images keep theirs, which may be root.
func TestRootImages(t *testing.T) {
	const ns = "rootly"
	setUp(t)
	u, a := engineer(t, "r-khan", ns), admin(t, openShift)
	runsAs := func(t *testing.T) *bool {
		t.Helper()
		u.does(t, deploy("job", ns, "--scc="+railheadSCC)...).silent(t).says(t, "job: 2 of 2 pods ready")
		pods := podsOf(t, openShift, ns, "job")
		if len(pods) != 2 || pods[0].Annotations["openshift.io/scc"] != railheadSCC {
			t.Fatalf("pods %v", pods)
		}
		u.does(t, "delete", "job", "-n", ns, "--yes").silent(t)
		return pods[0].Spec.SecurityContext.RunAsNonRoot
	}
	u.ends(t, 1, deploy("job", ns, "--scc="+railheadSCC, "--run-as-user=0")...).silent(t).says(t,
		"SCC railhead-rdma does not allow user 0, which the pods need [scc-usable]", "add-scc-to-user anyuid",
		"nothing was written")
	t.Run("another SCC, as the fix says", func(t *testing.T) {
		const anyuid = "system:openshift:scc:anyuid"
		binding := &rbacv1.RoleBinding{
			ObjectMeta: meta(ns, anyuid),
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: anyuid},
			Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: ns, Name: "railhead-sa"}},
		}
		create(t, openShift.Client(), binding)
		remove(t, openShift.Client(), binding)
		u.does(t, deploy("job", ns, "--scc=anyuid", "--run-as-user=0")...).silent(t).says(t, "job: 2 of 2 pods ready")
		u.does(t, "delete", "job", "-n", ns, "--yes").silent(t)
	})
	if nonRoot := runsAs(t); nonRoot == nil || !*nonRoot {
		t.Errorf("runAsNonRoot %v under an SCC that gives a user", nonRoot)
	}
	a.does(t, "setup", "cluster", "--allow-ipc-lock", "--yes").silent(t)
	defer setUp(t)
	if nonRoot := runsAs(t); nonRoot != nil {
		t.Errorf("runAsNonRoot %v under an SCC that gives none", *nonRoot)
	}
}

// TestMemoryQuota: /dev/shm comes on top of the memory, and what the job holds itself does not stand against it.
func TestMemoryQuota(t *testing.T) {
	const ns = "counting"
	setUp(t)
	u := engineer(t, "q-diaz", ns)
	quota := &corev1.ResourceQuota{ObjectMeta: meta(ns, "memory"), Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{
		"limits.memory": resource.MustParse("384Gi"), "requests.memory": resource.MustParse("384Gi"),
	}}}
	create(t, openShift.Client(), quota)
	eventually(t, "the quota counts", func() error {
		if len(get(t, openShift.Client(), quota).Status.Hard) == 0 {
			return fmt.Errorf("no status")
		}
		return nil
	})
	u.ends(t, 1, deploy("job", ns, "--memory=129Gi")...).silent(t).says(t, "quota memory of namespace counting has 384Gi limits.memory left, but the job needs 386Gi limits.memory", "nothing was written")
	u.does(t, deploy("job", ns, "--memory=128Gi")...).silent(t).says(t, "Each pod requests 192Gi of memory: 128Gi, and 64Gi for /dev/shm", "job: 2 of 2 pods ready")
	for _, p := range podsOf(t, openShift, ns, "job") {
		if limit := p.Spec.Containers[0].Resources.Limits.Memory(); limit.Cmp(resource.MustParse("192Gi")) != 0 {
			t.Errorf("%s is limited to %s", p.Name, limit)
		}
	}
	eventually(t, "the quota counts the pods", func() error {
		if used := get(t, openShift.Client(), quota).Status.Used["limits.memory"]; used.Cmp(resource.MustParse("384Gi")) != 0 {
			return fmt.Errorf("%s used", used.String())
		}
		return nil
	})
	u.does(t, deploy("job", ns, "--memory=128Gi")...).silent(t).says(t, "Nothing to do")
	u.does(t, "delete", "job", "-n", ns, "--yes").silent(t)
}

// TestNodeSelector: nodes that the namespace's own selector leaves out are no free nodes.
func TestNodeSelector(t *testing.T) {
	const ns = "fenced"
	setUp(t)
	u := engineer(t, "f-berg", ns)
	marked(t, ns, "annotations", "openshift.io/node-selector", "kubernetes.io/hostname=gpu-1")
	u.ends(t, 1, deploy("job", ns)...).silent(t).says(t, "job needs 2 nodes with 8 nvidia.com/gpu and 4 rails free; 1 of 16 nodes qualify",
		"label kubernetes.io/hostname is not gpu-1, which the node selector of namespace fenced requires", "nothing was written")
	u.does(t, deploy("job", ns, "--nodes=1", "--dry-run=client")...).silent(t).says(t, "Plan: Deploy job in namespace fenced: 1 pod")
}

// TestLeaf: pods that must be on one leaf switch are, and are refused where no leaf has enough nodes.
func TestLeaf(t *testing.T) {
	const ns, label = "leafy", "fabric.topograph.run/tier-0"
	setUp(t)
	u := engineer(t, "l-holm", ns)
	leaf := func(ctx context.Context, node string, leaf any) {
		text, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": map[string]any{label: leaf}}})
		if err == nil {
			err = patchNode(ctx, node, string(text))
		}
		if err != nil {
			t.Error(err)
		}
	}
	for _, node := range []string{"gpu-0", "gpu-1"} {
		leaf(t.Context(), node, "a")
		t.Cleanup(func() { leaf(context.Background(), node, nil) })
	}
	u.does(t, deploy("job", ns, "--leaf=require")...).silent(t).says(t, "job: 2 of 2 pods ready")
	for _, p := range podsOf(t, openShift, ns, "job") {
		rules := p.Spec.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution
		if len(rules) != 1 || rules[0].TopologyKey != label {
			t.Errorf("%s: %v", p.Name, rules)
		}
	}
	u.does(t, "delete", "job", "-n", ns, "--yes").silent(t)
	leaf(t.Context(), "gpu-1", "b")
	u.ends(t, 1, deploy("job", ns, "--leaf=require")...).silent(t).says(t,
		"no leaf switch has the 2 nodes that job needs", "nothing was written")
	u.does(t, deploy("job", ns)...).silent(t).says(t, "job: 2 of 2 pods ready") // they prefer one
	u.does(t, "delete", "job", "-n", ns, "--yes").silent(t)
}

// TestExclusiveRDMA: where the nodes move RDMA devices into network namespaces, the attachments have the plugin that
// does it.
func TestExclusiveRDMA(t *testing.T) {
	setUp(t)
	a, c := admin(t, openShift), openShift.Client()
	for _, name := range []string{"gpu-0", "gpu-1"} {
		state := get(t, c, sriovObject("SriovNetworkNodeState", name))
		mode := func(ctx context.Context, mode string) {
			text := fmt.Appendf(nil, `{"status":{"system":{"rdmaMode":%q}}}`, mode)
			if err := c.Status().Patch(ctx, state, client.RawPatch(types.MergePatchType, text)); err != nil {
				t.Fatal(err)
			}
		}
		mode(t.Context(), "exclusive")
		t.Cleanup(func() { mode(context.Background(), "shared") })
	}
	for ns, flags := range map[string][]string{"moved": nil, "moved-copies": {"--networks-from=default", "--network=eno5np0"}} {
		t.Run(ns, func(t *testing.T) {
			forget(t, ns)
			setup := append([]string{"setup", "namespace", ns, "--yes"}, flags...)
			a.does(t, setup...).silent(t).says(t, "The rdma plugin is the last one of ")
			var networks networksv1.NetworkAttachmentDefinitionList
			if err := c.List(t.Context(), &networks, client.InNamespace(ns)); err != nil {
				t.Fatal(err)
			}
			if len(networks.Items) == 0 {
				t.Error("no attachments")
			}
			for _, n := range networks.Items {
				var config unstructured.Unstructured
				if err := json.Unmarshal([]byte(n.Spec.Config), &config.Object); err != nil {
					t.Fatal(err)
				}
				plugins, _, _ := unstructured.NestedSlice(config.Object, "plugins")
				if len(plugins) != 2 || fmt.Sprint(plugins[1]) != "map[type:rdma]" {
					t.Errorf("%s: %s", n.Name, n.Spec.Config)
				}
			}
			a.does(t, setup...).silent(t).says(t, "Nothing to do")
		})
	}
}
