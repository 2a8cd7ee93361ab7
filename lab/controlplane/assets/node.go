package assets

import "time"

// The programs of a node that is a machine of its own. The crun that the shim calls is not among them: it is C.
const (
	Kubelet        Program = "kubelet"
	Containerd     Program = "containerd"
	ContainerdShim Program = "containerd-shim-runc-v2"
	// Ctr is containerd's own client.
	Ctr     Program = "ctr"
	CoreDNS Program = "coredns"
	// Multus is the thin plugin: it does its work itself and has no daemon.
	Multus      Program = "multus"
	Whereabouts Program = "whereabouts"
	// HostDevice moves a network device into a pod. Installed as sriov it takes the VF that Multus hands over as
	// deviceID.
	HostDevice Program = "host-device"
	Bridge     Program = "bridge"
	HostLocal  Program = "host-local"
	Loopback   Program = "loopback"
	Tuning     Program = "tuning"
	// DRANet is the DRA driver of network devices.
	DRANet Program = "dranet"
)

// nodeRecipes returns the recipes of a node's programs. Each module is separate to keep its own dependencies: a
// program equals its release, instead of being built with the newest client library of all.
func nodeRecipes() map[Program]recipe {
	const (
		kubernetes = "k8s.io/kubernetes"
		coredns    = "github.com/coredns/coredns"
		multus     = "gopkg.in/k8snetworkplumbingwg/multus-cni.v4"
		dranet     = "sigs.k8s.io/dranet"
	)
	return map[Program]recipe{
		// Half of it is in the build cache by then: the API server's.
		Kubelet: {
			module:  "kubelet",
			pkg:     kubernetes + "/cmd/kubelet",
			version: kubernetes,
			stamp:   true,
			first:   time.Minute,
		},
		CoreDNS: {module: "coredns", pkg: ".", version: coredns, first: 2 * time.Minute},
		Multus: {
			module: "multus", pkg: multus + "/cmd/multus", version: multus,
			variable: multus + "/pkg/multus.version", first: 2 * time.Minute,
		},
		Whereabouts: {
			module: "whereabouts", pkg: whereabouts + "/cmd", version: whereabouts,
			variable: whereabouts + "/pkg/version.Version", first: 150 * time.Second,
		},
		Containerd: containerdCommand(Containerd, "", time.Minute),
		// A shim runs for every pod; without gRPC, which it does not need, it is half as large.
		ContainerdShim: containerdCommand(ContainerdShim, "no_grpc", 3*time.Second),
		Ctr:            containerdCommand(Ctr, "", 3*time.Second),
		HostDevice:     cniPlugin("main/host-device", 20*time.Second),
		Bridge:         cniPlugin("main/bridge", 3*time.Second),
		HostLocal:      cniPlugin("ipam/host-local", time.Second),
		Loopback:       cniPlugin("main/loopback", time.Second),
		Tuning:         cniPlugin("meta/tuning", time.Second),
		DRANet:         {module: "dranet", pkg: dranet + "/cmd/dranet", version: dranet, first: 150 * time.Second},
	}
}

// containerdCommand is the recipe of one of containerd's commands.
func containerdCommand(p Program, tags string, first time.Duration) recipe {
	const containerd = "github.com/containerd/containerd/v2"
	return recipe{
		module: "containerd", pkg: containerd + "/cmd/" + string(p), version: containerd,
		tags: tags, variable: containerd + "/version.Version", first: first,
	}
}

// cniPlugin is the recipe of one of the CNI project's own plugins, named with its folder.
func cniPlugin(name string, first time.Duration) recipe {
	const plugins = "github.com/containernetworking/plugins"
	return recipe{
		module: "cni", pkg: plugins + "/plugins/" + name, version: plugins,
		variable: plugins + "/pkg/utils/buildversion.BuildVersion", first: first,
	}
}
