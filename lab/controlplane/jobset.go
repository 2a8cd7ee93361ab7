package controlplane

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/railhead/railhead/lab/controlplane/assets"
	"github.com/railhead/railhead/lab/controlplane/process"
	"github.com/railhead/railhead/lab/controlplane/scheme"
)

// jobsetConfig is the JobSet controller's configuration, with its webhook's port and certificates.
const jobsetConfig = `apiVersion: config.jobset.x-k8s.io/v1alpha1
kind: Configuration
leaderElection: {leaderElect: false}
internalCertManagement: {enable: false}
webhook: {host: 127.0.0.1, port: %d, certDir: %q}
metrics: {bindAddress: "0"}
health: {healthProbeBindAddress: "127.0.0.1:0"}
clientConnection: {qps: 500, burst: 1000}
`

// startJobSet runs the JobSet controller and tells the API server where its webhooks are.
func (p *ControlPlane) startJobSet(ctx context.Context) error {
	if !p.options.JobSet {
		return nil
	}
	ports, err := process.FreePorts(1)
	if err != nil {
		return err
	}
	port := ports[0]
	certificates, err := p.webhookServer("jobset")
	if err != nil {
		return err
	}
	config := filepath.Join(certificates, "config.yaml")
	if err := os.WriteFile(config, fmt.Appendf(nil, jobsetConfig, port, certificates), 0o600); err != nil {
		return err
	}
	c, err := p.run(assets.JobSet, "jobset-controller", masters(), "--config="+config)
	if err != nil {
		return err
	}
	if err := p.installWebhooks(ctx, port); err != nil {
		return err
	}
	return until(ctx, "the JobSet webhooks answer", c.process, func(ctx context.Context) error {
		return p.client.Create(ctx, minimalJobSet(), client.DryRunAll)
	})
}

// webhookServer makes a folder with a server's certificate, as tls.crt and tls.key.
func (p *ControlPlane) webhookServer(name string) (certificates string, err error) {
	certificates = filepath.Join(p.dir, "pki", name)
	if err := os.MkdirAll(certificates, 0o700); err != nil {
		return "", err
	}
	pair, err := p.authority.Server()
	if err != nil {
		return "", err
	}
	_, _, err = pair.Write(certificates, "tls")
	return certificates, err
}

// installWebhooks installs the controller's own manifests: its Service becomes this port, and its pod webhooks see the
// pods of JobSets only, as config/components/webhook/patches of the module have it.
func (p *ControlPlane) installWebhooks(ctx context.Context, port int) error {
	file, err := assets.JobSetWebhooks(ctx)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	d := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	for {
		var u unstructured.Unstructured
		if err := d.Decode(&u.Object); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		configuration, err := p.jobsetWebhook(u.Object, port)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		if err := p.client.Create(ctx, configuration); err != nil {
			return fmt.Errorf("install webhooks %s: %w", configuration.GetName(), err)
		}
	}
}

func (p *ControlPlane) jobsetWebhook(object map[string]any, port int) (client.Object, error) {
	jobsets := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
		Key: "jobset.sigs.k8s.io/jobset-name", Operator: metav1.LabelSelectorOpExists,
	}}}
	convert := runtime.DefaultUnstructuredConverter.FromUnstructured
	if object["kind"] == "ValidatingWebhookConfiguration" {
		var v admissionv1.ValidatingWebhookConfiguration
		if err := convert(object, &v); err != nil {
			return nil, err
		}
		v.Name = "jobset-" + v.Name
		for i := range v.Webhooks {
			p.point(&v.Webhooks[i].ClientConfig, port)
			if v.Webhooks[i].Name == "vpod.kb.io" {
				v.Webhooks[i].ObjectSelector = jobsets
			}
		}
		return &v, nil
	}
	var m admissionv1.MutatingWebhookConfiguration
	if err := convert(object, &m); err != nil {
		return nil, err
	}
	m.Name = "jobset-" + m.Name
	for i := range m.Webhooks {
		p.point(&m.Webhooks[i].ClientConfig, port)
		if m.Webhooks[i].Name == "mpod.kb.io" {
			m.Webhooks[i].ObjectSelector = jobsets
		}
	}
	return &m, nil
}

// point turns a webhook's Service into the port on this machine.
func (p *ControlPlane) point(c *admissionv1.WebhookClientConfig, port int) {
	path := ""
	if c.Service != nil && c.Service.Path != nil {
		path = *c.Service.Path
	}
	url := fmt.Sprintf("https://127.0.0.1:%d%s", port, path)
	c.Service, c.URL, c.CABundle = nil, &url, p.authority.CertPEM
}

// minimalJobSet is a JobSet that the webhooks accept.
func minimalJobSet() *unstructured.Unstructured {
	pod := map[string]any{"spec": map[string]any{
		"restartPolicy": "Never",
		"containers":    []any{map[string]any{"name": "c", "image": "example.invalid/c"}},
	}}
	job := map[string]any{"spec": map[string]any{"template": pod}}
	u := &unstructured.Unstructured{
		Object: map[string]any{"spec": map[string]any{
			"replicatedJobs": []any{map[string]any{"name": "j", "template": job}},
		}},
	}
	u.SetGroupVersionKind(scheme.JobSetKind())
	u.SetNamespace("default")
	u.SetName("would-be-admitted")
	return u
}
