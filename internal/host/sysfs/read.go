package sysfs

import (
	"io/fs"

	"github.com/railhead/railhead/internal/host"
)

// Read takes the Snapshot of the machine below root. It never fails as a whole: everything that cannot be read is a
// Problem, so that one broken HCA does not hide the other seven.
func Read(root fs.FS, p Probes) host.Snapshot {
	in := newInput(root, p)
	s := host.Snapshot{SchemaVersion: host.SchemaVersion, Earlier: p.Earlier}
	if p.Now != nil {
		s.Taken = p.Now().UTC()
	}
	for _, part := range parts {
		part.full(in, &s)
	}
	s.Problems = in.problems
	return s
}

// ReadForLaunch reads only the parts of a Snapshot that the environment of a command depends on. It leads to the same
// variables as Read, and to the same findings except those about GPUs and, if the container reaches a device, the
// reason why none is a rail. Once allocations, verbs nodes and the places of devices are known, wanted chooses the
// devices whose ports are read.
func ReadForLaunch(root fs.FS, p Probes, wanted func(host.Snapshot) func(device string) bool) host.Snapshot {
	in := newInput(root, p)
	in.wanted = wanted
	s := host.Snapshot{SchemaVersion: host.SchemaVersion}
	for _, part := range parts {
		if part.launch != nil {
			part.launch(in, &s)
		}
	}
	s.Problems = in.problems
	return s
}

// input is the machine that the parts are read from.
type input struct {
	*tree
	probes    Probes
	functions pciFunctions
	wanted    func(host.Snapshot) func(device string) bool // for a launch
}

func newInput(root fs.FS, p Probes) *input {
	t := &tree{root: root}
	return &input{tree: t, probes: p, functions: pciFunctions{t, map[host.PCIAddress]host.Function{}}}
}

type step func(*input, *host.Snapshot)

// parts are read in this order; each may use the parts before it. A launch reads nothing of the parts without a
// launch step: nothing in the environment of a command depends on them.
var parts = []struct {
	name         string
	full, launch step
}{
	{"environment", readEnvironment, readEnvironment},
	{"links", readLinks, readLinksWithAddress},
	{"routes", readRoutes, readPreferredRoutes},
	{"limits", readLimits, readShmSize},
	{"NCCL", readNCCL, readNCCL},
	{"topology of NCCL", readTopology, readTopology},
	{"network status", readNetworkStatus, readNetworkStatusOfOthers},
	{"resource claims", readClaims, readClaims},
	{"verbs devices", readVerbsDevices, readVerbsNodes},
	{"RDMA devices", readDevices, readWantedDevices},
	{"allocated PCI functions", readNamedFunctions, readNamedFunctions},
	{"RDMA namespace", readRDMANetns, readRDMANetnsIfUnreachable},
	{"GPUs", readGPUs, nil},
	{"IOMMU", readIOMMU, nil},
	{"NUMA nodes", readNUMANodes, nil},
	{"identity", readIdentity, nil},
	{"virtual functions", readVirtualFunctions, nil},
	{"network of the rails", readRailNetwork, nil},
	{"PCI configuration", readPCIConfigs, nil},
	{"kernel modules", readModules, nil},
	{"libibverbs", readVerbsLibrary, nil},
	{"container runtime", readRuntime, nil},
	{"lockable memory", readLockable, nil},
	{"launched command", readLaunched, nil},
	{"queue pairs", readWire, nil},
}

func readIdentity(in *input, s *host.Snapshot) {
	s.Kernel = in.text("proc/sys/kernel/osrelease")
	s.Cmdline = in.text("proc/cmdline")
	s.Pod = in.text("proc/sys/kernel/hostname")
	if name := s.Env["HOSTNAME"]; name != "" {
		s.Pod = host.Know(name)
	}
	s.Namespace = in.text("var/run/secrets/kubernetes.io/serviceaccount/namespace")
	for _, name := range []string{"NODE_NAME", "KUBERNETES_NODE_NAME"} {
		if node := s.Env[name]; node != "" {
			s.Node = host.Know(node)
		}
	}
}
