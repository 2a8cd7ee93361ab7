package e2e_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	webhookSystem        = "railhead-system"
	webhookConfiguration = "inject-railhead"
	injectKey            = "railhead.dev/inject"
)

// TestWebhook: an administrator sets the webhook up; pods of a namespace get rails though their manifests say nothing of
// railhead, those of others stay as they are, and so do all when it does not answer. Then it is taken back.
func TestWebhook(t *testing.T) {
	const ns, other = "hooked", "unhooked"
	setUp(t)
	engineer(t, "h-oak", ns)
	namespace(t, openShift, other, "h-oak")
	a, c := admin(t, openShift), asUser(t, openShift, "h-oak")
	a.does(t, "setup", "namespace", ns, "--pod-binary=amd64="+podBinary, "--yes").silent(t)
	set := []string{"setup", "webhook", "--image=example.invalid/railhead:1", "--certificate=railhead"}
	t.Run("set up", func(t *testing.T) {
		a.does(t, append(set, "--dry-run=client")...).silent(t).says(t, "apply  Deployment railhead-system/railhead-webhook", "The certificate ends on")
		a.does(t, append(set, "--yes")...).silent(t).says(t, "created MutatingWebhookConfiguration "+webhookConfiguration)
		a.does(t, append(set, "--yes")...).silent(t).says(t, "Nothing to do")
		a.does(t, "setup", "status").prints(t, "Webhook: 2 of 2 replicas are available; its certificate ends on", "No namespace has the label")
	})
	stop := webhookServer(t)
	label(t, ns, "enabled")
	t.Run("pods of the namespace", func(t *testing.T) {
		create(t, c, hookedPod(ns, "alone", ""))
		hasRails(t, get(t, c, &corev1.Pod{ObjectMeta: meta(ns, "alone")}))
		job := &batchv1.Job{ObjectMeta: meta(ns, "many"), Spec: batchv1.JobSpec{
			Template: corev1.PodTemplateSpec{Spec: hookedPod(ns, "", "").Spec},
		}}
		create(t, c, job)
		var pods corev1.PodList
		eventually(t, "the Job has its pod", func() error {
			err := c.List(t.Context(), &pods, client.InNamespace(ns), client.MatchingLabels{"job-name": "many"})
			if err == nil && len(pods.Items) == 0 {
				err = fmt.Errorf("no pods")
			}
			return err
		})
		hasRails(t, &pods.Items[0])
	})
	t.Run("pods that stay as they are", func(t *testing.T) {
		without := hookedPod(ns, "cpu", "")
		without.Spec.Containers[0].Resources = corev1.ResourceRequirements{}
		create(t, c, without, hookedPod(ns, "opted-out", "disabled"), hookedPod(other, "elsewhere", ""))
		for _, o := range []*corev1.Pod{without, hookedPod(ns, "opted-out", ""), hookedPod(other, "elsewhere", "")} {
			untouched(t, get(t, c, &corev1.Pod{ObjectMeta: meta(o.Namespace, o.Name)}))
		}
	})
	t.Run("dry run", func(t *testing.T) {
		p := hookedPod(ns, "dry", "")
		if err := c.Create(t.Context(), p, client.DryRunAll); err != nil {
			t.Fatal(err)
		}
		hasRails(t, p)
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(p), p); !apierrors.IsNotFound(err) {
			t.Errorf("a dry run left a pod: %v", err)
		}
	})
	t.Run("rails that are required where there are none", func(t *testing.T) {
		err := c.Create(t.Context(), hookedPod(other, "strict", "required"))
		if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "namespace unhooked has no network attachments") {
			t.Errorf("%v", err)
		}
		create(t, c, hookedPod(other, "lenient", "enabled"))
		p := get(t, c, &corev1.Pod{ObjectMeta: meta(other, "lenient")})
		untouched(t, p)
	})
	t.Run("a thousand pods", func(t *testing.T) {
		for i := range 1000 {
			p := hookedPod(ns, fmt.Sprintf("many-%d", i), "")
			if err := c.Create(t.Context(), p, client.DryRunAll); err != nil {
				t.Fatal(err)
			}
			hasRails(t, p)
		}
	})
	metrics := stop()
	for _, want := range []string{
		`{outcome="injected",reason=""} `, `{outcome="skipped",reason="no-gpus"} `, `{outcome="skipped",reason="disabled"} 1`,
		`{outcome="refused",reason="no-attachments"} 1`, `{outcome="failed",reason="no-attachments"} 1`, "railhead_webhook_errors_total 0",
	} {
		if !strings.Contains(metrics, want) {
			t.Errorf("no %s in:\n%s", want, metrics)
		}
	}
	t.Run("when it does not answer", func(t *testing.T) {
		create(t, c, hookedPod(ns, "late", ""))
		untouched(t, get(t, c, &corev1.Pod{ObjectMeta: meta(ns, "late")}))
	})
	t.Run("taken back", func(t *testing.T) {
		a.does(t, "setup", "rollback", "--yes").silent(t).says(t, "deleted MutatingWebhookConfiguration "+webhookConfiguration, "deleted Namespace railhead-system")
		for _, gone := range []client.Object{
			&admissionv1.MutatingWebhookConfiguration{ObjectMeta: meta("", webhookConfiguration)},
			&appsv1.Deployment{ObjectMeta: meta(webhookSystem, "railhead-webhook")},
			&rbacv1.ClusterRole{ObjectMeta: meta("", "railhead-webhook")}, &rbacv1.ClusterRoleBinding{ObjectMeta: meta("", "railhead-webhook")},
		} {
			if err := openShift.Client().Get(t.Context(), client.ObjectKeyFromObject(gone), gone); !apierrors.IsNotFound(err) {
				t.Errorf("%T: %v", gone, err)
			}
		}
		a.does(t, "setup", "rollback", "--yes").silent(t).says(t, "Nothing to do")
	})
	t.Run("with the certificate of OpenShift's service CA", func(t *testing.T) { usesServiceCA(t, a) })
}

// usesServiceCA sets the webhook up, without a certificate of railhead's. The cluster has no service CA: only what
// asks it for a certificate is seen.
func usesServiceCA(t *testing.T, a user) {
	t.Helper()
	eventually(t, "the namespace is gone", func() error {
		ns := &corev1.Namespace{ObjectMeta: meta("", webhookSystem)}
		err := openShift.Client().Get(t.Context(), client.ObjectKeyFromObject(ns), ns)
		return unless(apierrors.IsNotFound(err), fmt.Sprint(err))
	})
	a.does(t, "setup", "webhook", "--image=example.invalid/railhead:1", "--certificate=service-ca", "--yes").silent(t)
	const annotation = "service.beta.openshift.io/"
	service := get(t, openShift.Client(), &corev1.Service{ObjectMeta: meta(webhookSystem, "railhead-webhook")})
	hook := &admissionv1.MutatingWebhookConfiguration{ObjectMeta: meta("", webhookConfiguration)}
	get(t, openShift.Client(), hook)
	if service.Annotations[annotation+"serving-cert-secret-name"] != "railhead-webhook-tls" ||
		hook.Annotations[annotation+"inject-cabundle"] != "true" {
		t.Errorf("Service %v, webhook %v", service.Annotations, hook.Annotations)
	}
	if policy := hook.Webhooks[0].FailurePolicy; *policy != admissionv1.Ignore {
		t.Errorf("failurePolicy %s", *policy)
	}
	a.does(t, "setup", "rollback", "--yes").silent(t).says(t, "deleted Namespace "+webhookSystem)
}

// webhookServer runs the server as its ServiceAccount, with the rights of its role alone, and lets the API server reach
// it: a stand-in for the Service. stop ends it and returns its metrics.
func webhookServer(t *testing.T) (stop func() (metrics string)) {
	t.Helper()
	address, certificates, err := openShift.Addons.Point(t.Context(), webhookConfiguration)
	if err != nil {
		t.Fatal(err)
	}
	u := as(t, openShift, "system:serviceaccount:"+webhookSystem+":railhead-webhook", "system:serviceaccounts")
	var interrupt context.CancelFunc
	listening := make(chan struct{})
	u.heard = func(line string, i context.CancelFunc) {
		if strings.HasPrefix(line, "Listening on ") {
			interrupt = i
			close(listening)
			return
		}
		t.Log(line) // what it cannot read
	}
	done := make(chan result, 1)
	go func() {
		done <- u.railhead(t, "webhook", "--listen="+address, "--cert-dir="+certificates, "--pod-binary=amd64="+podBinary)
	}()
	select {
	case <-listening:
	case r := <-done:
		t.Fatalf("exit code %d:\n%s", r.code, r.err)
	}
	web := &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // its own certificate is not the point here
	}}
	page := func(path string) (string, error) {
		r, err := web.Get("https://" + address + path)
		if err != nil {
			return "", err
		}
		defer r.Body.Close()
		text, err := io.ReadAll(r.Body)
		if err == nil && r.StatusCode != http.StatusOK {
			err = fmt.Errorf("%s: %s", r.Status, text)
		}
		return string(text), err
	}
	eventually(t, "the webhook is ready", func() error {
		_, err := page("/readyz")
		return err
	})
	return func() string {
		metrics, err := page("/metrics")
		if err != nil {
			t.Error(err)
		}
		web.CloseIdleConnections()
		interrupt()
		if r := <-done; r.code != 0 {
			t.Errorf("exit code %d:\n%s", r.code, r.err)
		}
		return metrics
	}
}

// label gives a namespace the label of the webhook, and waits until the server has seen it.
func label(t *testing.T, name, value string) {
	t.Helper()
	ns := get(t, openShift.Client(), &corev1.Namespace{ObjectMeta: meta("", name)})
	before := ns.DeepCopy()
	if ns.Labels == nil {
		ns.Labels = map[string]string{}
	}
	ns.Labels[injectKey] = value
	if err := openShift.Client().Patch(t.Context(), ns, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "pods of the namespace are sent to the webhook", func() error {
		p := hookedPod(name, "would-have-rails", "")
		err := openShift.Client().Create(t.Context(), p, client.DryRunAll)
		if err == nil && p.Annotations["k8s.v1.cni.cncf.io/networks"] == "" {
			err = fmt.Errorf("no rails")
		}
		return err
	})
}

// hookedPod is a pod that says nothing of railhead, but for the annotation.
func hookedPod(ns, name, annotation string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: meta(ns, name), Spec: corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever,
		Containers: []corev1.Container{{
			Name: "train", Image: "example.invalid/pytorch:2.9", Command: []string{"torchrun", "train.py"},
			Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("1")}},
		}},
	}}
	if annotation != "" {
		p.Annotations = map[string]string{injectKey: annotation}
	}
	return p
}

// hasRails wants rails, their devices, railhead-pod and the environment in a pod, after all admission.
func hasRails(t *testing.T, p *corev1.Pod) {
	t.Helper()
	train := p.Spec.Containers[0]
	if p.Annotations["k8s.v1.cni.cncf.io/networks"] != "hooked-eno5np0,hooked-eno6np0,hooked-eno7np0,hooked-eno8np0" ||
		fmt.Sprint(train.Command) != "[/railhead/bin/railhead-pod run -- torchrun train.py]" || len(p.Spec.InitContainers) != 1 ||
		!slices.ContainsFunc(train.Env, func(v corev1.EnvVar) bool { return v.Name == "RAILHEAD_MODE" && v.Value == "rdma" }) {
		t.Errorf("%s: annotations %v, %+v", p.Name, p.Annotations, train)
	}
	for _, rail := range railNames() {
		if n := train.Resources.Limits[corev1.ResourceName("openshift.io/"+rail+"rdma")]; n.Value() != 1 {
			t.Errorf("%s has %s of %s", p.Name, n.String(), rail)
		}
	}
	if s := train.SecurityContext; s != nil && s.Capabilities != nil && len(s.Capabilities.Add) > 0 {
		t.Errorf("%s has capabilities %v", p.Name, s.Capabilities.Add)
	}
	passedInjector := slices.ContainsFunc(p.Spec.Volumes, func(v corev1.Volume) bool { return v.DownwardAPI != nil })
	if passedInjector != options().Injector {
		t.Errorf("%s passed the network-resources-injector: %v; volumes %v", p.Name, passedInjector, p.Spec.Volumes)
	}
}

// untouched wants nothing of railhead in a pod.
func untouched(t *testing.T, p *corev1.Pod) {
	t.Helper()
	if p.Annotations["k8s.v1.cni.cncf.io/networks"] != "" || len(p.Spec.InitContainers) > 0 || p.Spec.Containers[0].Command[0] != "torchrun" {
		t.Errorf("%s was changed: %v, %+v", p.Name, p.Annotations, p.Spec)
	}
}
