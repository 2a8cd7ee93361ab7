package controlplane

import (
	"context"
	"fmt"
	"path/filepath"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/railhead/railhead/lab/controlplane/assets"
	"github.com/railhead/railhead/lab/controlplane/openshift"
	"github.com/railhead/railhead/lab/controlplane/process"
)

const (
	injectorAccount = "network-resources-injector-sa"
	networksKey     = "k8s.v1.cni.cncf.io/networks"
)

// startInjector runs the network-resources-injector as the SR-IOV operator deploys it (bindata/manifests/webhook), as
// its own ServiceAccount, and tells the API server where it is.
func (p *ControlPlane) startInjector(ctx context.Context) error {
	if !p.options.Injector {
		return nil
	}
	ports, err := process.FreePorts(2)
	if err != nil {
		return err
	}
	port, health := ports[0], ports[1]
	folder := filepath.Join(p.dir, "pki", "injector")
	if err := serverIn(p.authority, folder); err != nil {
		return err
	}
	if err := p.injectorRights(ctx); err != nil {
		return err
	}
	if err := p.account(ctx, openshift.SRIOVNamespace, injectorAccount, folder); err != nil {
		return err
	}
	// Release 1.9.0 panics when its watch breaks while a NetworkAttachmentDefinition is deleted
	// (cache.DeletedFinalStateUnknown): in a cluster the kubelet starts it again.
	p.injector, err = p.group.Keep(p.inCluster(assets.Injector, []string{
		folder, p.programs[assets.Injector], "--bind-address=127.0.0.1", "--insecure", "-logtostderr",
		fmt.Sprintf("--port=%d", port), fmt.Sprintf("--health-check-port=%d", health),
		"--tls-cert-file=" + process.Certificates + "/tls.crt",
		"--tls-private-key-file=" + process.Certificates + "/tls.key",
		"-injectHugepageDownApi=true", "-network-resource-name-keys=k8s.v1.cni.cncf.io/resourceName",
	}, "NAMESPACE="+openshift.SRIOVNamespace))
	if err != nil {
		return fmt.Errorf("%w (it needs user namespaces)", err)
	}
	if err := p.client.Create(ctx, p.injectorWebhook(port)); err != nil {
		return fmt.Errorf("install the injector's webhook: %w", err)
	}
	return p.injects(ctx, p.injector.Process())
}

// restartInjector crashes the injector, where there is one, and waits until it answers again.
func (p *ControlPlane) restartInjector(ctx context.Context) error {
	if p.injector == nil {
		return nil
	}
	p.injector.Process().Kill()
	return p.injects(ctx, nil)
}

// injects waits until the injector answers, or the process, unless nil, has ended.
func (p *ControlPlane) injects(ctx context.Context, started *process.Process) error {
	return until(ctx, "the injector answers", started, func(ctx context.Context) error {
		return p.client.Create(ctx, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace:   "default",
				Name:        "would-be-admitted",
				Annotations: map[string]string{networksKey: ""},
			},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "example.invalid/c"}}},
		}, client.DryRunAll)
	})
}

// injectorRights gives the injector's ServiceAccount its rights.
func (p *ControlPlane) injectorRights(ctx context.Context) error {
	const name = "network-resources-injector"
	return openshift.Install(
		ctx,
		p.client,
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: []rbacv1.PolicyRule{
			{
				APIGroups: []string{"k8s.cni.cncf.io"},
				Resources: []string{"network-attachment-definitions"},
				Verbs:     []string{"watch", "list", "get"},
			},
			{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"watch", "list", "get"}},
		}},
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: name + "-role-binding"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
			Subjects: []rbacv1.Subject{
				{Kind: rbacv1.ServiceAccountKind, Namespace: openshift.SRIOVNamespace, Name: injectorAccount},
			},
		},
	)
}

// injectorWebhook is the operator's 003-webhook.yaml with its match condition, without which a failure would be
// ignored.
func (p *ControlPlane) injectorWebhook(port int) *admissionv1.MutatingWebhookConfiguration {
	url := fmt.Sprintf("https://127.0.0.1:%d/mutate", port)
	fail, none := admissionv1.Fail, admissionv1.SideEffectClassNone
	return &admissionv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "network-resources-injector-config"},
		Webhooks: []admissionv1.MutatingWebhook{{
			Name: "network-resources-injector-config.k8s.io", FailurePolicy: &fail, SideEffects: &none,
			AdmissionReviewVersions: []string{"v1"},
			ClientConfig:            admissionv1.WebhookClientConfig{URL: &url, CABundle: p.authority.CertPEM},
			MatchConditions: []admissionv1.MatchCondition{{
				Name: "include-networks-annotation",
				Expression: fmt.Sprintf("has(object.metadata.annotations) && %q in object.metadata.annotations",
					networksKey),
			}},
			Rules: []admissionv1.RuleWithOperations{{
				Operations: []admissionv1.OperationType{admissionv1.Create},
				Rule: admissionv1.Rule{
					APIGroups:   []string{"apps", ""},
					APIVersions: []string{"v1"},
					Resources:   []string{"pods"},
				},
			}},
		}},
	}
}
