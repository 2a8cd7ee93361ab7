package e2e_test

import (
	"encoding/json"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const templateSpec = `{"serviceAccountName": "railhead-sa", "restartPolicy": %q, "containers": [{
	"name": "train", "image": "example.invalid/pytorch:2.9", "command": ["torchrun", "train.py"],
	"resources": {"limits": {"nvidia.com/gpu": 8}}}]}`

// manifests are of each kind that has pods.
func manifests(ns string) map[string]string {
	always, never := fmt.Sprintf(templateSpec, "Always"), fmt.Sprintf(templateSpec, "Never")
	labelled := fmt.Sprintf(`{"metadata": {"labels": {"app": "mine"}}, "spec": %s}`, always)
	ends := fmt.Sprintf(`{"spec": %s}`, never)
	object := func(apiVersion, kind, spec string) string {
		return fmt.Sprintf(`{"apiVersion": %q, "kind": %q, "metadata": {"name": "mine", "namespace": %q}, "spec": %s}`, apiVersion, kind, ns, spec)
	}
	selector := `"selector": {"matchLabels": {"app": "mine"}}`
	return map[string]string{
		"Pod":         object("v1", "Pod", never),
		"Deployment":  object("apps/v1", "Deployment", fmt.Sprintf(`{%s, "template": %s}`, selector, labelled)),
		"StatefulSet": object("apps/v1", "StatefulSet", fmt.Sprintf(`{%s, "serviceName": "mine", "template": %s}`, selector, labelled)),
		"Job":         object("batch/v1", "Job", fmt.Sprintf(`{"template": %s}`, ends)),
		"JobSet": object("jobset.x-k8s.io/v1alpha2", "JobSet",
			fmt.Sprintf(`{"replicatedJobs": [{"name": "w", "replicas": 1, "template": {"spec": {"template": %s}}}]}`, ends)),
	}
}

// TestInject: a manifest of the user's own gets what deploy gives its pods, and the server takes it.
func TestInject(t *testing.T) {
	const ns = "own"
	setUp(t)
	u := engineer(t, "a-novak", ns)
	c := asUser(t, openShift, "a-novak")
	inject := []string{"inject", "-f", "-", "-n", ns, "--pod-binary=amd64=" + podBinary}
	for kind, manifest := range manifests(ns) {
		t.Run(kind, func(t *testing.T) {
			u := u
			u.stdin = manifest
			r := u.does(t, inject...)
			all := documents(t, r.out)
			injected := all[len(all)-1]
			if len(all) < 2 || injected.GetKind() != kind {
				t.Fatalf("%d objects, the last is a %s", len(all), injected.GetKind())
			}
			accepted(t, c, all)
			pod := template(t, injected)
			train := pod.Spec.Containers[0]
			rdma := train.Resources.Limits["openshift.io/eno8np0rdma"]
			if pod.Annotations["k8s.v1.cni.cncf.io/networks"] != "own-eno5np0,own-eno6np0,own-eno7np0,own-eno8np0" || rdma.Value() != 1 ||
				fmt.Sprint(train.Command) != "[/railhead/bin/railhead-pod run -- torchrun train.py]" || len(pod.Spec.InitContainers) != 1 {
				t.Errorf("annotations %v, resources %v, command %q", pod.Annotations, train.Resources, train.Command)
			}
			u.stdin = r.out
			if again := u.does(t, inject...); again.out != r.out {
				t.Errorf("injected twice:\n%s\nonce:\n%s", again.out, r.out)
			}
		})
	}
	t.Run("in the namespaces that they name", func(t *testing.T) {
		namespace(t, openShift, "railless-too", "a-novak")
		u := u
		anywhere := []string{"inject", "-f", "-", "--pod-binary=amd64=" + podBinary}
		u.stdin = manifests(ns)["Job"] // the kubeconfig's own namespace is default
		u.does(t, anywhere...).prints(t, "own-eno5np0,own-eno6np0,own-eno7np0,own-eno8np0")
		u.stdin += "\n---\n" + manifests("railless-too")["Pod"]
		u.ends(t, 1, anywhere...).silent(t).says(t, "pods cannot get a rail: namespace railless-too has no network attachments")
		u.ends(t, 2, inject...).silent(t).says(t, "-f -: Pod mine is in namespace railless-too, but -n is own: omit -n, or use -n railless-too")
	})
	t.Run("a namespace without rails", func(t *testing.T) {
		namespace(t, openShift, "railless", "a-novak")
		u := u
		inject := []string{"inject", "-f", "-", "--pod-binary=amd64=" + podBinary}
		u.stdin = manifests("railless")["Job"]
		u.ends(t, 1, inject...).silent(t).says(t, "pods cannot get a rail: namespace railless has no network attachments")
		r := u.does(t, append(inject, "--mode=tcp")...)
		r.prints(t, "railhead-pod", `"name": "RAILHEAD_MODE"`)
	})
	t.Run("a kind that is not known, among others", func(t *testing.T) {
		u := u
		const train = "\n---\n" + `{"apiVersion": "example.com/v1", "kind": "Train",
			"metadata": {"name": "mine"}, "spec": %s}`
		template := fmt.Sprintf(`{"worker": {"template": {"spec": %s}}}`, fmt.Sprintf(templateSpec, "Never"))
		u.stdin = manifests(ns)["Job"] + fmt.Sprintf(train, template)
		u.ends(t, 1, inject...).silent(t).says(t, "railhead does not know where Train has pod templates",
			"--template-path spec.worker.template")
		u.stdin = manifests(ns)["Job"] + fmt.Sprintf(train, "{}")
		u.does(t, inject...).says(t, "Unchanged, because no pod template was found: Train mine.")
	})
	t.Run("what has no pods", func(t *testing.T) {
		u := u
		u.stdin = `{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "mine"}}`
		u.ends(t, 1, inject...).silent(t).says(t, "StatefulSet")
		u.stdin = "no: [yaml"
		u.ends(t, 3, inject...).silent(t)
	})
}

// template is the pod that a manifest makes.
func template(t *testing.T, o *unstructured.Unstructured) corev1.PodTemplateSpec {
	t.Helper()
	fields := o.Object
	path := map[string][]string{
		"Deployment": {"spec", "template"}, "StatefulSet": {"spec", "template"}, "Job": {"spec", "template"},
	}[o.GetKind()]
	if o.GetKind() == "JobSet" {
		jobs, _, _ := unstructured.NestedSlice(fields, "spec", "replicatedJobs")
		fields, _, _ = unstructured.NestedMap(jobs[0].(map[string]any), "template", "spec", "template")
	}
	if len(path) > 0 {
		fields, _, _ = unstructured.NestedMap(fields, path...)
	}
	var pod corev1.PodTemplateSpec
	text, err := json.Marshal(fields)
	if err == nil {
		err = json.Unmarshal(text, &pod)
	}
	if err != nil {
		t.Fatal(err)
	}
	return pod
}
