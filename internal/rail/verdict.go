package rail

import (
	"fmt"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
)

// NoRail explains a Resolution without rails: the root cause, with every device's reason as evidence, and the fix.
func (r Resolution) NoRail(s host.Snapshot) check.Finding {
	outside := func(f check.Finding) bool { return f.Check == RDMANamespace }
	if i := slices.IndexFunc(r.Conflicts, outside); i >= 0 {
		return r.Conflicts[i]
	}
	if f, found := r.mountedBesideEFA(); found {
		return f
	}
	f := check.Finding{Check: DeviceAllocated, Status: check.Fail, Subject: check.Ref{Kind: check.Pod}}
	if devices := r.otherScope(s); len(devices) > 0 {
		return r.wrongScope(f, devices)
	}
	if relevant := r.relevant(); len(relevant) > 0 {
		return unusable(f, relevant)
	}
	return noDevice(f, s)
}

func unusable(f check.Finding, devices []Rejected) check.Finding {
	first := devices[0]
	f.Check, f.Fix = first.Cause, first.fix()
	f.Summary = fmt.Sprintf("no usable RDMA device: %s: %s", first.Name(), first.Reason)
	if len(devices) > 1 {
		f.Summary = fmt.Sprintf("none of %d RDMA devices is usable: %s", len(devices), reasons(devices))
	}
	show(&f, devices)
	mounted := true // nothing gave the container the devices, and it may open none
	for _, d := range devices {
		mounted = mounted && len(d.Sources) == 0 && d.reason == nodeDenied
	}
	if mounted {
		f.Fix = check.ByUser("Request the RDMA resource in this container, and do not mount /dev/infiniband: "+
			"a mount shows the verbs nodes, but only the device plugin gives permission to open them.", resourceLimit)
	}
	return f
}

func noDevice(f check.Finding, s host.Snapshot) check.Finding {
	switch {
	case slices.ContainsFunc(s.Problems, hidesDevices):
		f.Status = check.Unknown // and whether a device was requested is not known
		f.Summary = "the RDMA devices could not be read"
		for _, p := range s.Problems {
			if hidesDevices(p) {
				f.Summary += fmt.Sprintf(": %s %s: %s", p.Op, p.Path, p.Err)
			}
			f.Evidence = append(f.Evidence, check.Evidence{Source: p.Path, Got: p.Err})
		}
	case len(s.Devices) == 0:
		f.Summary = "no RDMA device: this machine has none, or its driver is not loaded"
		f.Evidence = []check.Evidence{{Source: "/sys/class/infiniband", Got: "empty or absent"}}
		f.Fix = check.ByAdmin("Use a node with RDMA NICs. If this is one, load the NICs' driver (NVIDIA: mlx5_ib).",
			"modprobe mlx5_ib")
	case len(s.Uverbs) == 0 && s.VerbsNodes.IsKnown():
		f.Check = UverbsOpenable
		f.Summary = fmt.Sprintf("the kernel has no verbs device for the node's %d RDMA devices: "+
			"its module ib_uverbs is not loaded", len(s.Devices))
		f.Evidence = []check.Evidence{
			{Source: "/sys/class/infiniband_verbs", Got: "empty or absent", Want: "uverbsN"},
		}
		f.Fix = check.ByAdmin("Load the module on the node.", "modprobe ib_uverbs")
	default:
		f.Summary = fmt.Sprintf("this container was given none of the node's %d RDMA devices", len(s.Devices))
		f.Evidence = []check.Evidence{
			{Source: "/dev/infiniband", Got: "no verbs node of these devices", Want: "uverbsN"},
		}
		f.Fix = fixes[f.Check]
		addInterfaces(&f, s)
	}
	return f
}

func hidesDevices(p host.Problem) bool {
	return p.Path == "/sys/class/infiniband" || p.Path == "/dev/infiniband"
}

// addInterfaces says that the pod has the interfaces of devices that this container cannot open.
func addInterfaces(f *check.Finding, s host.Snapshot) {
	var here []string
	for _, d := range s.Devices {
		if !d.IsVirtual() || len(d.Netdevs) == 0 {
			continue
		}
		netdev := d.Netdevs[0]
		here = append(here, fmt.Sprintf("%s (%s)", d.Name, netdev))
		f.Evidence = append(f.Evidence, check.Evidence{
			Source: "/sys/class/net/" + netdev + "/device/infiniband", Got: d.Name,
		})
	}
	if len(here) == 0 {
		return
	}
	f.Summary += ", though the interfaces of " + strings.Join(here, ", ") +
		" are here: another container of the pod was given the devices"
	f.Fix = check.ByUser("Request the RDMA resource in this container: all containers of a pod share its networks, "+
		"but only the one that requests a device may open it.", resourceLimit)
}

// resourceLimit shows how a container requests a device.
const resourceLimit = `spec:
  containers:
  - resources:
      limits:
        openshift.io/RESOURCE: "1"`

// otherScope returns the devices that the other scope would use.
func (r Resolution) otherScope(s host.Snapshot) []string {
	if slices.ContainsFunc(r.Rejected, func(x Rejected) bool { return x.Missed }) {
		return nil // the given devices are the problem
	}
	if r.Scope == Host {
		return Resolve(s, Pod).Devices()
	}
	return Resolve(s, Host).Devices()
}

func (r Resolution) wrongScope(f check.Finding, devices []string) check.Finding {
	names := strings.Join(devices, ", ")
	if r.Scope == Pod {
		f.Summary = "no virtual function is usable here, but physical functions are (" + names +
			"): no source shows what was allocated"
		f.Fix = useHostScope
		return f
	}
	f.Summary = "only virtual functions are usable here (" + names + "), but --scope host uses physical functions"
	f.Fix = check.ByUser("Omit --scope host.", "railhead-pod run -- ...")
	return f
}

var useHostScope = check.ByUser("On bare metal or on the host network, use --scope host.",
	"railhead-pod run --scope host -- ...")

// relevant returns the devices that should have been rails: the allocated ones, otherwise those that this container can
// reach.
func (r Resolution) relevant() []Rejected {
	var missed, allocated, reachable []Rejected
	for _, x := range r.Rejected {
		here := x.Cause != DeviceAllocated && x.reason != nodeMissing
		switch {
		case x.Missed:
			missed = append(missed, x)
		case len(x.Sources) > 0 && (here || x.Cause == DeviceAllocated):
			allocated = append(allocated, x)
		case here:
			reachable = append(reachable, x)
		}
	}
	switch {
	case len(missed) > 0:
		return missed
	case len(allocated) > 0:
		return allocated
	}
	return reachable
}

// reasons counts the devices by cause, each with the first one as its example.
func reasons(all []Rejected) string {
	var first []Rejected
	count := map[check.ID]int{}
	for _, x := range all {
		if count[x.Cause]++; count[x.Cause] == 1 {
			first = append(first, x)
		}
	}
	parts := make([]string, 0, len(first))
	for _, x := range first {
		text := x.Name() + ": " + x.Reason
		if n := count[x.Cause]; n > 1 {
			text += fmt.Sprintf(" (and %d more like it)", n-1)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}

// fixes has the fix for each cause.
var fixes = map[check.ID]*check.Fix{
	DeviceAllocated: check.ByUser("Request the RDMA resource and its network in the pod; "+
		"`kubectl get network-attachment-definitions -o yaml` shows the names.", `metadata:
  annotations:
    k8s.v1.cni.cncf.io/networks: NETWORK
`+resourceLimit),
	AllocationConsistent: check.ByAdmin("The node's devices were renamed, or the rdma CNI plugin did not move the " +
		"device into the pod. Recreate the pod; if that does not help, restart the SR-IOV device plugin on its node."),
	UverbsOpenable: check.ByAdmin("The resource pool must mount the verbs nodes: set isRdma in the "+
		"SriovNetworkNodePolicy, then recreate the pod. If a node exists but is not permitted, only recreate the pod.",
		"SriovNetworkNodePolicy spec:\n  deviceType: netdevice\n  isRdma: true"),
	PortActive: check.ByAdmin("Bring the physical port up: interface, cable, transceiver, switch port.",
		"ip link set INTERFACE up", "ethtool INTERFACE"),
	GIDUsable: check.ByAdmin("RoCE needs an IP address on the rail's interface in the pod: "+
		"attach one network for each rail, with IPAM.",
		`SriovNetwork spec:
  ipam: '{"type": "whereabouts", "range": "10.1.0.0/16"}'`),
	TransportSupported: check.ByAdmin("Use devices whose link layer is InfiniBand or Ethernet (RoCE); " +
		"other transports need their own NCCL plugin."),
}
