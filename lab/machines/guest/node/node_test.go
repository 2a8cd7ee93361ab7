package node

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"flag"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pelletier/go-toml/v2"
	kubeletv1beta1 "k8s.io/kubelet/config/v1beta1"
	"sigs.k8s.io/yaml"

	"github.com/railhead/railhead/lab/machines/guest"
	"github.com/railhead/railhead/lab/machines/guest/service"
)

var update = flag.Bool("update", false, "rewrite the golden files; read the difference as you read code")

func config() guest.Config {
	return guest.Config{
		Name:       "node-a",
		Management: guest.Link{Name: "mgmt", Address: netip.MustParsePrefix("10.1.1.15/24")},
		Pods:       &guest.Link{Name: "pods", Address: netip.MustParsePrefix("10.0.8.1/24")},
		Node: &guest.Node{
			Kubeconfig: "kubelet.kubeconfig", CNIKubeconfig: "cni.kubeconfig", ClientCA: "ca.crt", KubeletPort: 20123,
			PodCIDR: netip.MustParsePrefix("10.244.1.0/24"),
			Resources: []guest.Resource{
				{
					Name: "openshift.io/eno5np0rdma",
					Card: "eno5np0",
				}, {Name: "openshift.io/eno6np0rdma", Card: "eno6np0"},
			},
			Labels: map[string]string{"b": "2", "a": "1"},
		},
	}
}

func files(t *testing.T) map[string]string {
	t.Helper()
	all, err := Files(config(), "kubeconfig of CNI\n")
	if err != nil {
		t.Fatal(err)
	}
	byPath := map[string]string{}
	for _, f := range all {
		if _, twice := byPath[f.Path]; twice {
			t.Errorf("%s is written twice", f.Path)
		}
		byPath[f.Path] = f.Content
	}
	return byPath
}

// TestFiles compares all files with testdata, where each lies under its own path.
func TestFiles(t *testing.T) {
	all := files(t)
	for path, got := range all {
		golden := filepath.Join("testdata", path)
		if *update {
			err := os.MkdirAll(filepath.Dir(golden), 0o755)
			if err == nil {
				err = os.WriteFile(golden, []byte(got), 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Error(err)
			continue
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s: %s", path, diff)
		}
	}
	err := filepath.WalkDir("testdata", func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && all[strings.TrimPrefix(path, "testdata")] == "" {
			t.Errorf("%s is of no file", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestKubeletConfiguration reads the kubelet's file with the type of its API, in which every field must be known.
func TestKubeletConfiguration(t *testing.T) {
	var got kubeletv1beta1.KubeletConfiguration
	if err := yaml.UnmarshalStrict([]byte(files(t)[kubeletConfig]), &got); err != nil {
		t.Fatal(err)
	}
	type facts struct {
		Port                      int32
		ClientCA, DNS, Runtime    string
		AnonymousOff, IPTablesOff bool
	}
	want := facts{20123, "/lab/own/ca.crt", "10.0.8.1", "unix:///run/containerd/containerd.sock", true, true}
	is := func(b *bool) bool { return b != nil && *b }
	if diff := cmp.Diff(want, facts{
		got.Port, got.Authentication.X509.ClientCAFile, strings.Join(got.ClusterDNS, ","), got.ContainerRuntimeEndpoint,
		!is(got.Authentication.Anonymous.Enabled), !is(got.MakeIPTablesUtilChains),
	}); diff != "" {
		t.Error(diff)
	}
}

// TestFormats reads each file in its own format.
func TestFormats(t *testing.T) {
	for path, text := range files(t) {
		var v any
		var err error
		switch {
		case strings.HasSuffix(path, ".toml"):
			err = toml.Unmarshal([]byte(text), &v)
		case strings.HasSuffix(path, ".json"), strings.HasSuffix(path, ".conf") && path != resolvConf:
			err = json.Unmarshal([]byte(text), &v)
		}
		if err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestServing(t *testing.T) {
	cert, key, err := serving("node-a", netip.MustParseAddr("10.0.8.1"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tls.X509KeyPair([]byte(cert.Content), []byte(key.Content)); err != nil {
		t.Error(err)
	}
	block, _ := pem.Decode([]byte(cert.Content))
	parsed, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"node-a", "10.0.8.1"} {
		if err := parsed.VerifyHostname(name); err != nil {
			t.Error(err)
		}
	}
}

func TestArguments(t *testing.T) {
	n := Node{Config: config(), Init: "/init", Services: &service.Services{}}
	want := []string{
		"--config=/etc/kubernetes/kubelet.json", "--kubeconfig=/lab/own/kubelet.kubeconfig",
		"--hostname-override=node-a",
		"--node-ip=10.0.8.1", "--cloud-provider=external", "--v=2", "--node-labels=a=1,b=2",
	}
	if diff := cmp.Diff(want, n.kubeletArguments()); diff != "" {
		t.Error(diff)
	}
	p := n.devicePlugin()
	want = []string{"/init", "device-plugin", "openshift.io/eno5np0rdma=eno5np0", "openshift.io/eno6np0rdma=eno6np0"}
	if diff := cmp.Diff(want, append([]string{p.Path}, p.Args...)); diff != "" {
		t.Error(diff)
	}
	n.Config.Pods, n.Config.Node.Labels = nil, nil
	if got := n.kubeletArguments()[3]; got != "--node-ip=10.1.1.15" {
		t.Errorf("without a network between the nodes: %s", got)
	}
}
