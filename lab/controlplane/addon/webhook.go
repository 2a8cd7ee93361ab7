package addon

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
func (a *Addons) Point(ctx context.Context, configuration string) (address, certificates string, err error) {
	ports, err := process.FreePorts(1)
	if err != nil {
		return "", "", err
	}
	certificates = filepath.Join(a.Folder, configuration)
	if err := serverIn(a.Authority, certificates); err != nil {
		return "", "", err
	}
	var m admissionv1.MutatingWebhookConfiguration
	if err := a.Client.Get(ctx, client.ObjectKey{Name: configuration}, &m); err != nil {
		return "", "", err
	}
	for i := range m.Webhooks {
		point(&m.Webhooks[i].ClientConfig, ports[0], a.Authority.CertPEM)
	}
	return fmt.Sprintf("127.0.0.1:%d", ports[0]), certificates, a.Client.Update(ctx, &m)
}
