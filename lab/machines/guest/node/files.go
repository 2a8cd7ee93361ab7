// Package node makes a virtual machine a node: the configuration of its programs and their start.
package node

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"

	"github.com/railhead/railhead/lab/machines/guest"
)

// Where a node's files are. Multus and whereabouts have their kubeconfigs where their own DaemonSets put them.
const (
	containerdConfig      = "/etc/containerd/config.toml"
	containerdSocket      = "/run/containerd/containerd.sock"
	kubeletConfig         = "/etc/kubernetes/kubelet.json"
	servingCert           = "/etc/kubernetes/kubelet.crt"
	servingKey            = "/etc/kubernetes/kubelet.key"
	cniFolder             = "/etc/cni/net.d"
	multusKubeconfig      = cniFolder + "/multus.d/multus.kubeconfig"
	podNetwork            = cniFolder + "/multus.d/pods.conf"
	whereaboutsKubeconfig = cniFolder + "/whereabouts.d/whereabouts.kubeconfig"
	corefile              = "/etc/coredns/Corefile"
	resolvConf            = "/etc/kubernetes/resolv.conf"
	plugins               = guest.ProgramFolder + "/cni"
)

// ClusterDomain is the domain of services.
const ClusterDomain = "cluster.local"

// File is a file to be written.
type File struct {
	Path    string
	Content string
}

// Files are the configuration of a node's programs. cniKubeconfig is the content of Node.CNIKubeconfig.
func Files(c guest.Config, cniKubeconfig string) ([]File, error) {
	files := []File{
		{containerdConfig, containerd},
		{multusKubeconfig, cniKubeconfig},
		{cniFolder + "/whereabouts.d/nodename", c.Name},
		{whereaboutsKubeconfig, cniKubeconfig},
		{corefile, dns(address(c))},
		{resolvConf, "# No server is asked: there is nothing but the cluster.\n"},
	}
	for _, f := range []struct {
		path  string
		value any
	}{
		{podNetwork, pods(c.Node.PodCIDR)},
		{cniFolder + "/00-multus.conf", multus()},
		{cniFolder + "/whereabouts.d/whereabouts.conf", whereabouts()},
		{kubeletConfig, kubelet(c)},
		{realPluginConfig, realPlugin(c.Node.Resources)},
	} {
		text, err := json.MarshalIndent(f.value, "", "  ")
		if err != nil {
			return nil, fmt.Errorf("write %s: %w", f.path, err)
		}
		files = append(files, File{f.path, string(text) + "\n"})
	}
	return files, nil
}

// address is the one by which other nodes know this one. That of the management network leads nowhere but to the host.
func address(c guest.Config) netip.Addr {
	if c.Pods != nil {
		return c.Pods.Address.Addr()
	}
	return c.Management.Address.Addr()
}

// containerd is the configuration of containerd 2.
const containerd = `version = 3

[grpc]
address = "` + containerdSocket + `"

[plugins."io.containerd.cri.v1.images"]
snapshotter = "overlayfs"

[plugins."io.containerd.cri.v1.images".pinned_images]
sandbox = "` + guest.PauseImage + `"

[plugins."io.containerd.cri.v1.runtime".containerd]
default_runtime_name = "crun"

[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.crun]
runtime_type = "io.containerd.runc.v2"

[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.crun.options]
BinaryName = "` + guest.ProgramFolder + `/crun"

[plugins."io.containerd.cri.v1.runtime".cni]
bin_dirs = ["` + plugins + `"]
conf_dir = "` + cniFolder + `"

# A DRA driver that is emulated takes longer than the default of 2 s, after which containerd goes on without it.
[plugins."io.containerd.nri.v1.nri"]
plugin_request_timeout = "30s"
`

// dns is the configuration of a CoreDNS that knows the cluster and nothing else.
func dns(bind netip.Addr) string {
	return strings.Join([]string{
		ClusterDomain + ":53 {",
		"  bind " + bind.String(),
		"  errors",
		"  kubernetes " + ClusterDomain + " {",
		"    kubeconfig " + multusKubeconfig,
		"  }",
		"}",
	}, "\n") + "\n"
}
