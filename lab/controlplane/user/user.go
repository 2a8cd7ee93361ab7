// Package user issues credentials of an API server to its users.
package user

import (
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

// Issuer issues the credentials of one API server.
type Issuer struct {
	Authority *pki.Authority
	Port      int    // of the API server
	Folder    string // for kubeconfigs
}

// Config returns the configuration with which a client is the user in the groups, by a client certificate. Every user
// is also in system:authenticated. The client does not limit its own rate.
func (i Issuer) Config(user string, groups ...string) (*rest.Config, error) {
	pair, err := i.Authority.Client(user, groups...)
	if err != nil {
		return nil, err
	}
	return &rest.Config{
		Host:            fmt.Sprintf("https://127.0.0.1:%d", i.Port),
		TLSClientConfig: rest.TLSClientConfig{CAData: i.Authority.CertPEM, CertData: pair.Cert, KeyData: pair.Key},
		QPS:             -1,
	}, nil
}

// Kubeconfig returns a kubeconfig with which a client is the user in the groups. It is complete in itself.
func (i Issuer) Kubeconfig(user string, groups ...string) ([]byte, error) {
	return i.KubeconfigVia(netip.AddrFrom4([4]byte{127, 0, 0, 1}), user, groups...)
}

// KubeconfigVia is Kubeconfig for a machine that reaches the API server by one of its other addresses.
func (i Issuer) KubeconfigVia(address netip.Addr, user string, groups ...string) ([]byte, error) {
	cfg, err := i.Config(user, groups...)
	if err != nil {
		return nil, err
	}
	k := api.NewConfig()
	k.Clusters["lab"] = &api.Cluster{
		Server:                   fmt.Sprintf("https://%s:%d", address, i.Port),
		CertificateAuthorityData: cfg.CAData,
	}
	k.AuthInfos[user] = &api.AuthInfo{ClientCertificateData: cfg.CertData, ClientKeyData: cfg.KeyData}
	k.Contexts["lab"] = &api.Context{Cluster: "lab", AuthInfo: user, Namespace: "default"}
	k.CurrentContext = "lab"
	return clientcmd.Write(*k)
}

// KubeconfigFile writes the user's kubeconfig into the folder and returns its path.
func (i Issuer) KubeconfigFile(user string, groups ...string) (string, error) {
	text, err := i.Kubeconfig(user, groups...)
	if err != nil {
		return "", err
	}
	name := strings.NewReplacer(":", "-", "/", "-").Replace(user)
	path := filepath.Join(i.Folder, name+".kubeconfig")
	return path, os.WriteFile(path, text, 0o600)
}

// ClientCA returns the certificate of the authority that signs all users.
func (i Issuer) ClientCA() []byte { return i.Authority.CertPEM }
