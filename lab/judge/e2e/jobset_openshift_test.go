//go:build openshift

package e2e_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kruntime "k8s.io/apimachinery/pkg/runtime"
)

// TestDeployJobSet: the pods of a JobSet are made by its controller and the Job's, pass the injector and the SCC, and
// know their ranks.
func TestDeployJobSet(t *testing.T) {
	const ns = "sets"
	setUp(t)
	u := engineer(t, "j-set", ns)
	before := objectsOf(t, openShift, ns)
	u.does(t, deploy("h-kim", ns, "--kind=jobset")...).silent(t).says(t, "apply  JobSet sets/h-kim  (runs 2 pods, once)", "h-kim: 2 of 2 pods ready")
	pods := podsOf(t, openShift, ns, "h-kim")
	if len(pods) != 2 || pods[0].Spec.NodeName == pods[1].Spec.NodeName {
		t.Fatalf("pods %v", pods)
	}
	for i, p := range pods {
		leastPrivilege(t, p)
		injected(t, p)
		env := map[string]string{}
		for _, v := range p.Spec.Containers[0].Env {
			env[v.Name] = v.Value
			if v.ValueFrom != nil {
				env[v.Name] = v.ValueFrom.FieldRef.FieldPath
			}
		}
		const index = "batch.kubernetes.io/job-completion-index"
		if env["MASTER_ADDR"] != "h-kim-worker-0-0.h-kim-headless.sets.svc" || env["NODE_RANK"] != "metadata.annotations['"+index+"']" || env["WORLD_SIZE"] != "16" ||
			p.Annotations[index] != []string{"0", "1"}[i] {
			t.Errorf("%s: %v, annotations %v", p.Name, env, p.Annotations)
		}
	}
	t.Run("a second time", func(t *testing.T) {
		u.does(t, deploy("h-kim", ns, "--kind=jobset")...).silent(t).says(t, "Nothing to do")
	})
	t.Run("with another image", func(t *testing.T) {
		u.ends(t, 1, deploy("h-kim", ns, "--kind=jobset", "--image=example.invalid/pytorch:3.0")...).silent(t).says(t,
			"h-kim exists with other settings, and a JobSet cannot be changed", "railhead delete h-kim -n sets", "nothing was written")
	})
	t.Run("as another kind", func(t *testing.T) {
		u.ends(t, 1, deploy("h-kim", ns, "--kind=statefulset")...).silent(t).says(t, "h-kim already exists as a JobSet, so it cannot be deployed as a StatefulSet", "railhead delete h-kim -n sets")
	})
	t.Run("a name that is too long for it", func(t *testing.T) {
		u.ends(t, 1, deploy(strings.Repeat("n", 50), ns, "--kind=jobset")...).silent(t).says(t, "NAME is", "but must be at most")
	})
	u.does(t, "status", "h-kim", "-n", ns).prints(t, "h-kim-worker-0-0-", "h-kim-worker-0-1-", railheadSCC)
	u.does(t, "delete", "h-kim", "-n", ns, "--yes").silent(t).says(t, "deleted JobSet h-kim")
	if after := objectsOf(t, openShift, ns); !maps.Equal(before, after) {
		t.Errorf("objects %v, before %v", after, before)
	}
}

// injected wants a pod to have passed the network-resources-injector, which mounts what the device plugin says of the
// rails and leaves what the pod asks for already.
func injected(t *testing.T, p corev1.Pod) {
	t.Helper()
	if !slices.ContainsFunc(p.Spec.Volumes, func(v corev1.Volume) bool { return v.DownwardAPI != nil }) {
		t.Errorf("%s has no downwardAPI volume: %v", p.Name, p.Spec.Volumes)
	}
	for _, rail := range railNames() {
		if n := p.Spec.Containers[0].Resources.Requests[corev1.ResourceName("openshift.io/"+rail+"rdma")]; n.Value() != 1 {
			t.Errorf("%s asks for %s of %s", p.Name, n.String(), rail)
		}
	}
}

// TestJobSetRefusedByAdmission: what the Job of a JobSet meets is explained as well.
func TestJobSetRefusedByAdmission(t *testing.T) {
	const ns = "lockedsets"
	setUp(t)
	trains(t, ns, "lonely")
	u := as(t, openShift, "lonely")
	r := u.ends(t, 1, deploy("lock", ns, "--kind=jobset", "--gpus=8", "--memlock=ipc-lock")...).silent(t)
	r.says(t, "[scc-ipc-lock]", "event FailedCreate of Job/lock-worker-0", "unable to validate against any security context constraint")
	u.ends(t, 1, "status", "lock", "-n", ns).silent(t).says(t, "Job lock has 0 of 2 pods.", "[scc-ipc-lock]")
	u.does(t, "delete", "lock", "-n", ns, "--yes").silent(t)
}

// TestJobSetWithoutPods: a JobSet that railhead did not deploy is explained by the events of its Jobs.
func TestJobSetWithoutPods(t *testing.T) {
	const ns = "unbornsets"
	setUp(t)
	u, c := engineer(t, "p-unborn-set", ns), openShift.Client()
	template, _ := gpuPods("llm", "8", func(p *corev1.PodTemplateSpec) {
		p.Spec.HostNetwork, p.Spec.RestartPolicy = true, corev1.RestartPolicyNever
	})
	spec, err := kruntime.DefaultUnstructuredConverter.ToUnstructured(&template)
	if err != nil {
		t.Fatal(err)
	}
	set := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": map[string]any{"name": "llm", "namespace": ns},
		"spec": map[string]any{"replicatedJobs": []any{map[string]any{
			"name": "worker", "replicas": int64(2), "template": map[string]any{"spec": map[string]any{"template": spec}},
		}}},
	}}
	create(t, c, set)
	remove(t, c, set)
	event(t, ns, "Job", "llm-worker-", "FailedCreate")
	u.ends(t, 1, "doctor", "-n", ns).prints(t, "a pod of JobSet llm", "event FailedCreate of Job/llm-worker-", "[scc-other]")
	u.ends(t, 1, "status", "llm", "-n", ns).silent(t).says(t, "Job llm has 0 of 2 pods.")
}
