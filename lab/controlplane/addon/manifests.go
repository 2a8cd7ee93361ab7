package addon

import (
	"context"
	"fmt"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/railhead/railhead/lab/controlplane/assets"
	"github.com/railhead/railhead/lab/controlplane/openshift"
)

// install installs the roles and the webhooks of a controller's manifests, as kustomize would change them, with the
// port in place of their Service. It returns the URLs of the webhooks.
func (a *Addons) install(ctx context.Context, c controller, port int, ca []byte) (urls []string, err error) {
	if c.manifests == "" {
		return nil, nil
	}
	files, err := assets.CRDFiles(ctx, c.manifests)
	if err != nil {
		return nil, err
	}
	i := installer{controller: c, port: port, ca: ca}
	for _, file := range files {
		all, err := assets.ReadObjects(file)
		if err != nil {
			return nil, err
		}
		for _, u := range all {
			o, err := i.object(u)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
			if o == nil {
				continue
			}
			if err := openshift.Install(ctx, a.Client, o); err != nil {
				return nil, err
			}
		}
	}
	return i.urls, nil
}

type installer struct {
	controller
	port int
	ca   []byte
	urls []string
}

// object returns a role, a binding or webhooks as they are installed, and nil for any other object.
func (i *installer) object(u *unstructured.Unstructured) (client.Object, error) {
	convert := func(o client.Object, change func()) (client.Object, error) {
		err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, o)
		o.SetName(i.prefix + o.GetName())
		change()
		return o, err
	}
	switch u.GetKind() {
	case "ClusterRole":
		return convert(&rbacv1.ClusterRole{}, func() {})
	case "ClusterRoleBinding":
		b := &rbacv1.ClusterRoleBinding{}
		return convert(b, func() {
			b.RoleRef.Name = i.prefix + b.RoleRef.Name
			for s := range b.Subjects {
				b.Subjects[s].Name, b.Subjects[s].Namespace = i.prefix+b.Subjects[s].Name, i.namespace
			}
		})
	case "ValidatingWebhookConfiguration":
		v := &admissionv1.ValidatingWebhookConfiguration{}
		return convert(v, func() {
			i.rename(v)
			for w := range v.Webhooks {
				h := &v.Webhooks[w]
				i.redirect(h.Name, &h.ObjectSelector, &h.ClientConfig)
			}
		})
	case "MutatingWebhookConfiguration":
		m := &admissionv1.MutatingWebhookConfiguration{}
		return convert(m, func() {
			i.rename(m)
			for w := range m.Webhooks {
				h := &m.Webhooks[w]
				i.redirect(h.Name, &h.ObjectSelector, &h.ClientConfig)
			}
		})
	}
	return nil, nil
}

func (i *installer) rename(o client.Object) {
	if i.webhooks != "" {
		o.SetName(i.webhooks)
	}
}

// redirect limits a webhook to the pods that it is for, and sends its requests to the port.
func (i *installer) redirect(name string, objects **metav1.LabelSelector, c *admissionv1.WebhookClientConfig) {
	if i.pods != "" && strings.HasSuffix(name, "pod.kb.io") {
		*objects = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
			Key: i.pods, Operator: metav1.LabelSelectorOpExists,
		}}}
	}
	i.urls = append(i.urls, point(c, i.port, i.ca))
}

// point turns a webhook's Service into the port on this machine, and returns the URL.
func point(c *admissionv1.WebhookClientConfig, port int, ca []byte) string {
	path := ""
	if c.Service != nil && c.Service.Path != nil {
		path = *c.Service.Path
	}
	url := fmt.Sprintf("https://127.0.0.1:%d%s", port, path)
	c.Service, c.URL, c.CABundle = nil, &url, ca
	return url
}
