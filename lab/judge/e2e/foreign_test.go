package e2e_test

import (
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/railhead/railhead/lab/controlplane/kubelet"
)

// TestForeign: every command finds a StatefulSet with rails from inject, and a Job of the same name that railhead did
// not touch.
func TestForeign(t *testing.T) {
	const ns = "foreign"
	setUp(t)
	u, c := engineer(t, "k-mori", ns), asUser(t, openShift, "k-mori")
	startKubelet(t, func(c kubelet.Container) string { return c.Pod + " waits\n" }, "gpu-0", "gpu-1")
	_, selector := gpuPods("llm", "8", nil)
	template := corev1.PodTemplateSpec{}
	template.Labels = selector.MatchLabels
	template.Spec.Containers = []corev1.Container{{Name: "python", Image: "example.invalid/x", Command: []string{"python", "prepare.py"}}}
	template.Spec.RestartPolicy = corev1.RestartPolicyNever
	template.Spec.NodeSelector = map[string]string{"kubernetes.io/hostname": "gpu-0"}
	two, indexed := int32(2), batchv1.IndexedCompletion
	job := &batchv1.Job{ObjectMeta: meta(ns, "llm"), Spec: batchv1.JobSpec{
		Completions: &two, Parallelism: &two, CompletionMode: &indexed, Template: template,
	}}
	u.stdin = fmt.Sprintf(`{"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "llm", "namespace": %q},
		"spec": {"replicas": 2, "podManagementPolicy": "Parallel", "serviceName": "llm", "selector": {"matchLabels": {"app": "mine"}},
		"template": {"metadata": {"labels": {"app": "mine"}}, "spec": {"serviceAccountName": "railhead-sa", "containers": [
		{"name": "proxy", "image": "example.invalid/proxy", "command": ["proxy"]},
		{"name": "main", "image": "example.invalid/pytorch", "command": ["sleep", "infinity"], "resources": {"limits": {"nvidia.com/gpu": 8}}}]}}}}`, ns)
	for _, o := range documents(t, u.does(t, "inject", "-f", "-", "-n", ns, "--pod-binary=amd64="+podBinary).out) {
		create(t, c, o)
	}
	create(t, c, job)
	eventually(t, "four pods run", func() error {
		var pods corev1.PodList
		if err := c.List(t.Context(), &pods, client.InNamespace(ns)); err != nil {
			return err
		}
		ready := 0
		for _, p := range pods.Items {
			for _, condition := range p.Status.Conditions {
				if condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue {
					ready++
				}
			}
		}
		if ready != 4 {
			return fmt.Errorf("%d of %d are ready", ready, len(pods.Items))
		}
		return nil
	})
	const both = "llm is the name of 2 workloads in namespace foreign: use statefulset/llm or job/llm"
	for _, command := range [][]string{{"status"}, {"logs"}, {"launch", "--", "true"}, {"bench"}, {"explain"}, {"delete"}, {"doctor"}} {
		line := append([]string{command[0], "llm", "-n", ns}, command[1:]...)
		u.ends(t, 2, line...).silent(t).says(t, both)
	}
	u.does(t, "__complete", "status", "-n", ns, "").prints(t, "statefulset/llm\n", "job/llm\n")
	u.does(t, "status", "statefulset/llm", "-n", ns).prints(t, "llm-0 ", "llm-1 ", "foreign-eno5np0")
	u.does(t, "status", "job/llm", "-n", ns).prints(t, "llm-0-", "llm-1-")
	u.does(t, "logs", "sts/llm", "-n", ns).prints(t, "[0] llm-0 waits", "[1] llm-1 waits")
	u.does(t, "logs", "jobs/llm", "-n", ns, "--rank=1").prints(t, "[1] llm-1-")
	u.does(t, "launch", "statefulset/llm", "-n", ns, "--", "sh", "-c", "echo $NODE_RANK of $NNODES").
		prints(t, "[0] 0 of 2\n", "[1] 1 of 2\n")
	u.ends(t, 1, "launch", "job/llm", "-n", ns, "--", "true").silent(t).says(t, "the pods run a command of their own (python prepare.py)")
	u.ends(t, 1, "logs", "job/nothing", "-n", ns).silent(t).says(t, "there is no job/nothing in namespace foreign; its jobs are statefulset/llm, job/llm")
	u.ends(t, 2, "status", "service/llm", "-n", ns).silent(t).says(t, "the kind service is not known; railhead knows")
	u.ends(t, 3, "explain", "statefulset/llm", "-n", ns).prints(t, "NCCL")
	u.ends(t, 1, "doctor", "statefulset/llm", "-n", ns).prints(t, "Job statefulset/llm in namespace foreign: 2 pods examined")
	u.ends(t, 1, "delete", "statefulset/llm", "-n", ns, "--yes").silent(t).says(t,
		"statefulset/llm in namespace foreign was not created by 'railhead deploy', so railhead does not delete it.",
		"To delete it: kubectl -n foreign delete statefulset/llm")
	u.ends(t, 1, "restart", "job/llm", "-n", ns, "--yes").silent(t).says(t, "the pods of job/llm cannot be restarted",
		"kubectl -n foreign delete job/llm")
	set := get(t, c, &appsv1.StatefulSet{ObjectMeta: meta(ns, "llm")})
	for _, o := range []client.Object{set, job} { // while a kubelet ends the pods
		if err := c.Delete(t.Context(), o, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
			t.Error(err)
		}
	}
	eventually(t, "no pod is left", func() error {
		var pods corev1.PodList
		if err := c.List(t.Context(), &pods, client.InNamespace(ns)); err != nil || len(pods.Items) > 0 {
			return fmt.Errorf("%d pods, %w", len(pods.Items), err)
		}
		return nil
	})
}
