package e2e_test

import (
	"slices"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/rules"
)

// waiting is the status of a pod that has a node and whose container the kubelet has not created. Its phase would be
// Pending, but kwok makes pending pods ready.
const waiting = `{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"False"}],"containerStatuses":[
	{"name":"train","image":"example.invalid/train","imageID":"","ready":false,"restartCount":0,
	"state":{"waiting":{"reason":"ContainerCreating"}}}]}}`

// waitingPod makes a pod that the kubelet of a node cannot start.
func waitingPod(t *testing.T, ns, name, node string) *corev1.Pod {
	t.Helper()
	c := openShift.Client()
	template, _ := gpuPods(name, "1", nil)
	pod := &corev1.Pod{ObjectMeta: meta(ns, name), Spec: template.Spec}
	pod.Labels, pod.Spec.NodeName = template.Labels, node
	create(t, c, pod)
	remove(t, c, pod)
	eventually(t, "kwok starts pod "+name, func() error {
		return unless(get(t, c, pod).Status.Phase == corev1.PodRunning, string(pod.Status.Phase))
	})
	if err := c.Status().Patch(t.Context(), pod, client.RawPatch("application/merge-patch+json", []byte(waiting))); err != nil {
		t.Fatal(err)
	}
	return pod
}

// kubeletEvent makes an event as the kubelet reports it.
func kubeletEvent(t *testing.T, pod *corev1.Pod, reason, message string) {
	t.Helper()
	now := metav1.Now()
	e := &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, GenerateName: pod.Name + "."},
		InvolvedObject: corev1.ObjectReference{
			APIVersion: "v1", Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID,
		},
		Type: corev1.EventTypeWarning, Reason: reason, Message: message, Count: 3, FirstTimestamp: now, LastTimestamp: now,
		Source: corev1.EventSource{Component: "kubelet", Host: pod.Spec.NodeName},
	}
	create(t, openShift.Client(), e)
	remove(t, openShift.Client(), e)
}

// fails reports whether a diagnosis has a failure of a check, with a text in its summary or its evidence.
func fails(d rules.Diagnosis, id check.ID, says string) bool {
	return slices.ContainsFunc(d.Problems, func(p rules.Problem) bool {
		quoted := slices.ContainsFunc(p.Evidence, func(e check.Evidence) bool { return strings.Contains(e.Got, says) })
		return p.Check == id && p.Status == check.Fail && (strings.Contains(p.Summary, says) || quoted)
	})
}

// TestPodEvents: doctor explains what the kubelet, the container runtime and the network plugins report of a pod that
// they cannot start.
func TestPodEvents(t *testing.T) {
	const ns, sandbox = "stuck", `Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox ` +
		`"4f1c": plugin type="multus" name="multus-cni-network" failed (add): `
	setUp(t)
	u := engineer(t, "p-stuck", ns)
	pod := waitingPod(t, ns, "held", "gpu-0")
	for name, c := range map[string]struct {
		reason, message string
		check           check.ID
		says            string
	}{
		"a CDI device that no specification describes": {
			"Failed", `Error: failed to create containerd container: CDI device injection failed: unresolvable CDI devices nvidia.com/gpu=0`,
			"device-injection", "the CDI specifications on node gpu-0 do not give nvidia.com/gpu=0",
		},
		"nvidia-container-cli": {
			"Failed", `Error: failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: ` +
				`nvidia-container-cli: initialization error: nvml error: driver/library version mismatch: unknown`,
			"device-injection", "the NVIDIA driver of node gpu-0 was updated while its old kernel modules are still loaded",
		},
		"the RDMA namespace mode": {
			"FailedCreatePodSandBox", sandbox + `[stuck/held:eno5np0]: error adding container to network "eno5np0": ` +
				`RDMA subsystem namespace awareness mode is set to shared, expecting it to be set to exclusive`,
			"sriov-cni", "needs the RDMA subsystem of node gpu-0 in another mode",
		},
		"an annotation that is not JSON": {
			"FailedCreatePodSandBox", sandbox + `Multus: [stuck/held]: error getting k8s network: parsePodNetworkAnnotation: failed to ` +
				`parse pod Network Attachment Selection Annotation JSON format: invalid character 'a' looking for beginning of value`,
			"nad-missing", "the annotation k8s.v1.cni.cncf.io/networks of held is not valid JSON",
		},
		"a GUID of InfiniBand": {
			"FailedCreatePodSandBox", sandbox + `[stuck/held:ib0]: error adding container to network "ib0": infiniBand SRI-OV CNI failed ` +
				`to configure VF "VF ib2 GUID is not valid"`,
			"sriov-cni", "the InfiniBand virtual function of held has no GUID",
		},
	} {
		t.Run(name, func(t *testing.T) {
			kubeletEvent(t, pod, c.reason, c.message)
			eventually(t, "doctor explains the event", func() error {
				r := u.railhead(t, "doctor", "pod/"+ns+"/held", "-o", "json")
				return unless(r.code == 1 && fails(diagnosis(t, r), c.check, c.says), r.out)
			})
		})
	}
}

// TestOtherWebhookFails: a webhook of another program that does not answer keeps the controllers from creating pods,
// and doctor quotes the refusal.
func TestOtherWebhookFails(t *testing.T) {
	const ns, name = "unanswered", "pods.policy.example.com"
	setUp(t)
	u, c := engineer(t, "p-unanswered", ns), openShift.Client()
	refuse, none, second, nothing := admissionv1.Fail, admissionv1.SideEffectClassNone, int32(1), "https://127.0.0.1:9/validate"
	hook := &admissionv1.ValidatingWebhookConfiguration{
		ObjectMeta: meta("", name),
		Webhooks: []admissionv1.ValidatingWebhook{{
			Name: name, FailurePolicy: &refuse, SideEffects: &none, TimeoutSeconds: &second, AdmissionReviewVersions: []string{"v1"},
			ClientConfig:      admissionv1.WebhookClientConfig{URL: &nothing},
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: ns}},
			Rules: []admissionv1.RuleWithOperations{{
				Operations: []admissionv1.OperationType{admissionv1.Create},
				Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
			}},
		}},
	}
	create(t, c, hook)
	remove(t, c, hook)
	two := int32(2)
	template, selector := gpuPods("refused", "8", nil)
	set := &appsv1.StatefulSet{ObjectMeta: meta(ns, "refused"), Spec: appsv1.StatefulSetSpec{Replicas: &two, Selector: selector, Template: template}}
	create(t, c, set)
	remove(t, c, set)
	event(t, ns, "StatefulSet", "refused", "FailedCreate")
	eventually(t, "doctor explains the refusal", func() error {
		r := u.railhead(t, "doctor", "refused", "-n", ns, "-o", "json")
		return unless(r.code == 1 && fails(diagnosis(t, r), "admission-refused", `failed calling webhook "`+name), r.out)
	})
}
