package controlplane

import (
	"context"
	"fmt"
	"path/filepath"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/railhead/railhead/lab/controlplane/process"
)

// Point lets the API server call a port of this machine instead of the Service of a MutatingWebhookConfiguration,
// whose address no packet reaches here. A server listens on the address with the certificate of the folder, tls.crt and
// tls.key.
func (p *ControlPlane) Point(ctx context.Context, configuration string) (address, certificates string, err error) {
	ports, err := process.FreePorts(1)
	if err != nil {
		return "", "", err
	}
	certificates = filepath.Join(p.dir, "pki", configuration)
	if err := serverIn(p.authority, certificates); err != nil {
		return "", "", err
	}
	var m admissionv1.MutatingWebhookConfiguration
	if err := p.client.Get(ctx, client.ObjectKey{Name: configuration}, &m); err != nil {
		return "", "", err
	}
	for i := range m.Webhooks {
		point(&m.Webhooks[i].ClientConfig, ports[0], p.authority.CertPEM)
	}
	return fmt.Sprintf("127.0.0.1:%d", ports[0]), certificates, p.client.Update(ctx, &m)
}
