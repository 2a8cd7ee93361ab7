package node

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/netip"
	"path/filepath"
	"time"

	"github.com/railhead/railhead/lab/machines/guest"
)

// kubeletConfiguration has the fields of kubelet.config.k8s.io/v1beta1 that a node sets. The API's own type would
// bring its packages, and the time that they need to initialize, into the machine's first process.
type kubeletConfiguration struct {
	APIVersion                string            `json:"apiVersion"`
	Kind                      string            `json:"kind"`
	Port                      int               `json:"port"`
	Authentication            authentication    `json:"authentication"`
	Authorization             authorization     `json:"authorization"`
	TLSCertFile               string            `json:"tlsCertFile"`
	TLSPrivateKeyFile         string            `json:"tlsPrivateKeyFile"`
	CgroupDriver              string            `json:"cgroupDriver"`
	ContainerRuntimeEndpoint  string            `json:"containerRuntimeEndpoint"`
	ClusterDNS                []string          `json:"clusterDNS"`
	ClusterDomain             string            `json:"clusterDomain"`
	ResolvConf                string            `json:"resolvConf"`
	MaxPods                   int               `json:"maxPods"`
	FailSwapOn                bool              `json:"failSwapOn"`
	MakeIPTablesUtilChains    bool              `json:"makeIPTablesUtilChains"`
	EvictionHard              map[string]string `json:"evictionHard"`
	ImageGCHighThreshold      int               `json:"imageGCHighThresholdPercent"`
	NodeStatusUpdateFrequency string            `json:"nodeStatusUpdateFrequency"`
}

type authentication struct {
	Anonymous enabled  `json:"anonymous"`
	Webhook   enabled  `json:"webhook"`
	X509      clientCA `json:"x509"`
}

type enabled struct {
	Enabled bool `json:"enabled"`
}

type clientCA struct {
	ClientCAFile string `json:"clientCAFile"`
}

type authorization struct {
	Mode string `json:"mode"`
}

// kubelet is the kubelet's configuration. Who has a certificate of the authority may ask it anything: that is the API
// server.
func kubelet(c guest.Config) kubeletConfiguration {
	return kubeletConfiguration{
		APIVersion: "kubelet.config.k8s.io/v1beta1", Kind: "KubeletConfiguration",
		Port:           c.Node.KubeletPort,
		Authentication: authentication{X509: clientCA{filepath.Join(guest.OwnFolder, c.Node.ClientCA)}},
		Authorization:  authorization{"AlwaysAllow"},
		TLSCertFile:    servingCert, TLSPrivateKeyFile: servingKey,
		CgroupDriver: "cgroupfs", ContainerRuntimeEndpoint: "unix://" + containerdSocket,
		ClusterDNS: []string{address(c).String()}, ClusterDomain: ClusterDomain, ResolvConf: resolvConf,
		MaxPods: 30,
		// Images are in memory, so that there is never much room for them; removed images do not come back.
		EvictionHard: map[string]string{
			"memory.available":  "50Mi",
			"nodefs.available":  "1%",
			"imagefs.available": "1%",
		},
		ImageGCHighThreshold: 100, NodeStatusUpdateFrequency: "5s",
	}
}

// serving makes the kubelet's certificate, which is not checked. The kubelet itself would make an RSA key, for which an
// emulated processor needs seconds.
func serving(name string, address netip.Addr) (cert, key File, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return File{}, File{}, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name},
		NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(1, 0, 0),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames:    []string{name}, IPAddresses: []net.IP{address.AsSlice()},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		return File{}, File{}, fmt.Errorf("sign the kubelet's certificate: %w", err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return File{}, File{}, err
	}
	text := func(kind string, der []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
	}
	return File{servingCert, text("CERTIFICATE", der)}, File{servingKey, text("PRIVATE KEY", secret)}, nil
}
