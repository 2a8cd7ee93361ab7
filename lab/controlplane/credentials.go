package controlplane

import (
	"context"
	"os"
	"path/filepath"

	"github.com/railhead/railhead/lab/controlplane/pki"
)

// credentials are files that servers read.
type credentials struct {
	ca                    string
	serverCert, serverKey string
	tokenKey, tokenPublic string // sign and verify ServiceAccount tokens
	kubeletCert           string // the API server's, as a client of kubelets
	kubeletKey            string
}

// issue makes the certificate authority and the servers' credentials.
func (p *ControlPlane) issue(context.Context) error {
	dir := filepath.Join(p.dir, "pki")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	var err error
	if p.authority, err = pki.New(); err != nil {
		return err
	}
	names := []string{"kubernetes", "kubernetes.default", "kubernetes.default.svc", serviceAddress}
	for _, address := range p.options.Addresses {
		names = append(names, address.String())
	}
	pair, err := p.authority.Server(names...)
	if err != nil {
		return err
	}
	f := credentials{ca: filepath.Join(dir, "ca.crt")}
	if err := os.WriteFile(f.ca, p.authority.CertPEM, 0o600); err != nil {
		return err
	}
	if f.serverCert, f.serverKey, err = pair.Write(dir, "server"); err != nil {
		return err
	}
	if pair, err = p.authority.Client("kube-apiserver-kubelet-client", "system:masters"); err != nil {
		return err
	}
	if f.kubeletCert, f.kubeletKey, err = pair.Write(dir, "kubelet-client"); err != nil {
		return err
	}
	private, public, err := pki.SigningKey()
	if err != nil {
		return err
	}
	f.tokenPublic, f.tokenKey, err = pki.Pair{Cert: public, Key: private}.Write(dir, "service-accounts")
	p.files = f
	return err
}
