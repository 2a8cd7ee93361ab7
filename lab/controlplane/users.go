package controlplane

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	api "k8s.io/client-go/tools/clientcmd/api"

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
	names := []string{"kubernetes", "kubernetes.default", "kubernetes.default.svc"}
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

// Config returns the configuration with which a client is the user in the groups, by a client certificate. Every user
// is also in system:authenticated. The client does not limit its own rate.
func (p *ControlPlane) Config(user string, groups ...string) (*rest.Config, error) {
	pair, err := p.authority.Client(user, groups...)
	if err != nil {
		return nil, err
	}
	return &rest.Config{
		Host:            fmt.Sprintf("https://127.0.0.1:%d", p.api.port),
		TLSClientConfig: rest.TLSClientConfig{CAData: p.authority.CertPEM, CertData: pair.Cert, KeyData: pair.Key},
		QPS:             -1,
	}, nil
}

// Kubeconfig returns a kubeconfig with which a client is the user in the groups. It is complete in itself.
func (p *ControlPlane) Kubeconfig(user string, groups ...string) ([]byte, error) {
	return p.KubeconfigVia(netip.AddrFrom4([4]byte{127, 0, 0, 1}), user, groups...)
}

// KubeconfigVia is Kubeconfig for a machine that reaches the API server by one of Options.Addresses.
func (p *ControlPlane) KubeconfigVia(address netip.Addr, user string, groups ...string) ([]byte, error) {
	cfg, err := p.Config(user, groups...)
	if err != nil {
		return nil, err
	}
	k := api.NewConfig()
	k.Clusters["lab"] = &api.Cluster{
		Server:                   fmt.Sprintf("https://%s:%d", address, p.api.port),
		CertificateAuthorityData: cfg.CAData,
	}
	k.AuthInfos[user] = &api.AuthInfo{ClientCertificateData: cfg.CertData, ClientKeyData: cfg.KeyData}
	k.Contexts["lab"] = &api.Context{Cluster: "lab", AuthInfo: user, Namespace: "default"}
	k.CurrentContext = "lab"
	return clientcmd.Write(*k)
}

// KubeconfigFile writes the user's kubeconfig into the control plane's folder and returns its path.
func (p *ControlPlane) KubeconfigFile(user string, groups ...string) (string, error) {
	text, err := p.Kubeconfig(user, groups...)
	if err != nil {
		return "", err
	}
	name := strings.NewReplacer(":", "-", "/", "-").Replace(user)
	path := filepath.Join(p.dir, "pki", name+".kubeconfig")
	return path, os.WriteFile(path, text, 0o600)
}

// ClientCA returns the certificate of the authority that signs all users.
func (p *ControlPlane) ClientCA() []byte { return p.authority.CertPEM }
