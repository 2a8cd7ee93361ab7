package addon

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

// StartInjector runs the network-resources-injector as the SR-IOV operator deploys it (bindata/manifests/webhook), as
// its own ServiceAccount, and tells the API server where it is.
func (a *Addons) StartInjector(ctx context.Context) error {
	ports, err := process.FreePorts(2)
	if err != nil {
		return err
	}
	port, health := ports[0], ports[1]
	folder := filepath.Join(a.Folder, "injector")
	if err := serverIn(a.Authority, folder); err != nil {
		return err
	}
	if err := a.injectorRights(ctx); err != nil {
		return err
	}
	if err := a.account(ctx, openshift.SRIOVNamespace, injectorAccount, folder); err != nil {
		return err
	}
	// Release 1.9.0 panics when its watch breaks while a NetworkAttachmentDefinition is deleted
	// (cache.DeletedFinalStateUnknown): in a cluster the kubelet starts it again.
	a.injector, err = a.Group.Keep(a.inCluster(assets.Injector, []string{
		folder, a.Programs[assets.Injector], "--bind-address=127.0.0.1", "--insecure", "-logtostderr",
		fmt.Sprintf("--port=%d", port), fmt.Sprintf("--health-check-port=%d", health),
		"--tls-cert-file=" + process.Certificates + "/tls.crt",
		"--tls-private-key-file=" + process.Certificates + "/tls.key",
		"-injectHugepageDownApi=true", "-network-resource-name-keys=k8s.v1.cni.cncf.io/resourceName",
	}, "NAMESPACE="+openshift.SRIOVNamespace))
	if err != nil {
		return fmt.Errorf("%w (it needs user namespaces)", err)
	}
	if err := a.Client.Create(ctx, a.injectorWebhook(port)); err != nil {
		return fmt.Errorf("install the injector's webhook: %w", err)
	}
	return a.injects(ctx, a.injector.Process())
}

// RestartInjector crashes the injector, where there is one, and waits until it answers again.
func (a *Addons) RestartInjector(ctx context.Context) error {
	if a.injector == nil {
		return nil
	}
	a.injector.Process().Kill()
	return a.injects(ctx, nil)
}

// injects waits until the injector answers, or the process, unless nil, has ended.
func (a *Addons) injects(ctx context.Context, started *process.Process) error {
	return process.Until(ctx, "the injector answers", started, func(ctx context.Context) error {
		return a.Client.Create(ctx, &corev1.Pod{
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
func (a *Addons) injectorRights(ctx context.Context) error {
	const name = "network-resources-injector"
	return openshift.Install(
		ctx,
		a.Client,
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
func (a *Addons) injectorWebhook(port int) *admissionv1.MutatingWebhookConfiguration {
	url := fmt.Sprintf("https://127.0.0.1:%d/mutate", port)
	fail, none := admissionv1.Fail, admissionv1.SideEffectClassNone
	return &admissionv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "network-resources-injector-config"},
		Webhooks: []admissionv1.MutatingWebhook{{
			Name: "network-resources-injector-config.k8s.io", FailurePolicy: &fail, SideEffects: &none,
			AdmissionReviewVersions: []string{"v1"},
			ClientConfig:            admissionv1.WebhookClientConfig{URL: &url, CABundle: a.Authority.CertPEM},
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
