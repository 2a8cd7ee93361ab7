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
	if i := slices.IndexFunc(r.Conflicts, func(f check.Finding) bool { return f.Check == RDMANamespace }); i >= 0 {
		return r.Conflicts[i]
	}
	f := check.Finding{Check: DeviceAllocated, Status: check.Fail, Subject: check.Ref{Kind: check.Pod}}
	if devices := otherScope(r, s); len(devices) > 0 {
		return r.wrongScope(f, devices)
	}
	relevant := r.relevant()
	for _, t := range relevant {
		f.About = append(f.About, t.ref())
		f.Evidence = append(f.Evidence, check.Evidence{Source: t.Name(), Got: t.Reason})
	}
	if len(relevant) > 0 {
		f.Check = relevant[0].Cause
		f.Summary = fmt.Sprintf("no usable RDMA device: %s: %s", relevant[0].Name(), relevant[0].Reason)
		if n := len(relevant); n > 1 {
			f.Summary = fmt.Sprintf("none of %d RDMA devices is usable: %s", n, reasons(relevant))
		}
		f.Fix = relevant[0].fix()
		if !slices.ContainsFunc(relevant, func(t Rejected) bool { return len(t.Sources) > 0 || t.reason != nodeDenied }) {
			f.Fix = unasked
		}
		return f
	}
	return noDevice(f, s)
}

// noDevice explains a container that no device was meant for.
func noDevice(f check.Finding, s host.Snapshot) check.Finding {
	switch {
	case unreadable(s):
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
		f.Fix = &check.Fix{
			Text: "Use a node with RDMA NICs; if this is one, load its driver (NVIDIA: mlx5_ib).", Commands: []string{"modprobe mlx5_ib"}, Who: check.Admin,
		}
	case len(s.Uverbs) == 0 && s.VerbsNodes.IsKnown():
		f.Check = UverbsOpenable
		f.Summary = fmt.Sprintf("the kernel shows no verbs device of the node's %d RDMA devices: its module ib_uverbs is not loaded", len(s.Devices))
		f.Evidence = []check.Evidence{{Source: "/sys/class/infiniband_verbs", Got: "empty or absent", Want: "uverbsN"}}
		f.Fix = &check.Fix{Text: "Load the module on the node.", Commands: []string{"modprobe ib_uverbs"}, Who: check.Admin}
	default:
		f.Summary = fmt.Sprintf("this container was given none of the node's %d RDMA devices", len(s.Devices))
		f.Evidence = []check.Evidence{{Source: "/dev/infiniband", Got: "no verbs node of these devices", Want: "uverbsN"}}
		f.Fix = fixes[f.Check]
		attached(&f, s)
	}
	return f
}

// attached says so where the pod has the interfaces of devices that this container cannot open.
func attached(f *check.Finding, s host.Snapshot) {
	var here []string
	for _, d := range s.Devices {
		if !d.IsVirtual() || len(d.Netdevs) == 0 {
			continue
		}
		here = append(here, fmt.Sprintf("%s (%s)", d.Name, d.Netdevs[0]))
		f.Evidence = append(f.Evidence, check.Evidence{Source: "/sys/class/net/" + d.Netdevs[0] + "/device/infiniband", Got: d.Name})
	}
	if len(here) == 0 {
		return
	}
	f.Summary += ", though the interfaces of " + strings.Join(here, ", ") + " are here: they were given to the pod, and not to this container of it"
	f.Fix = &check.Fix{
		Text:     "Request the RDMA resource in this container: all containers of a pod have its networks, and only that which asks for a device may open it.",
		Commands: []string{resourceLimit}, Who: check.User,
	}
}

// resourceLimit shows how a container requests a device.
const resourceLimit = `spec:
  containers:
  - resources:
      limits:
        openshift.io/RESOURCE: "1"`

// otherScope are the devices that the scope that was not asked for would have found.
func otherScope(r Resolution, s host.Snapshot) []string {
	if slices.ContainsFunc(r.Rejected, func(t Rejected) bool { return t.Missed }) {
		return nil // what was given is the matter
	}
	if r.Scope == Host {
		return Resolve(s, Pod).Devices()
	}
	return Resolve(s, Host).Devices()
}

func (r Resolution) wrongScope(f check.Finding, devices []string) check.Finding {
	names := strings.Join(devices, ", ")
	f.Summary = fmt.Sprintf("only virtual functions are usable here (%s), and --scope host takes the physical ones", names)
	f.Fix = &check.Fix{Text: "Leave out --scope host.", Commands: []string{"railhead-pod run -- ..."}, Who: check.User}
	if r.Scope == Pod {
		f.Summary = fmt.Sprintf("no virtual function is usable here, but physical ones are (%s): nothing says what was allocated", names)
		f.Fix = &check.Fix{
			Text: "On bare metal or on the host network say --scope host.", Commands: []string{"railhead-pod run --scope host -- ..."}, Who: check.User,
		}
	}
	return f
}

// relevant are the devices that should have been rails: the allocated ones, else those that this container can reach.
func (r Resolution) relevant() []Rejected {
	var missed, allocated, reachable []Rejected
	for _, t := range r.Rejected {
		here := t.Cause != DeviceAllocated && t.reason != nodeMissing
		switch {
		case t.Missed:
			missed = append(missed, t)
		case len(t.Sources) > 0 && (here || t.Cause == DeviceAllocated):
			allocated = append(allocated, t)
		case here:
			reachable = append(reachable, t)
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
	var causes []check.ID
	count := map[check.ID]int{}
	example := map[check.ID]Rejected{}
	for _, t := range all {
		if count[t.Cause]++; count[t.Cause] == 1 {
			causes = append(causes, t.Cause)
			example[t.Cause] = t
		}
	}
	parts := make([]string, 0, len(causes))
	for _, cause := range causes {
		text := example[cause].Name() + ": " + example[cause].Reason
		if n := count[cause]; n > 1 {
			text += fmt.Sprintf(" (and %d more like it)", n-1)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}

func unreadable(s host.Snapshot) bool {
	return slices.ContainsFunc(s.Problems, hidesDevices)
}

func hidesDevices(p host.Problem) bool {
	return p.Path == "/sys/class/infiniband" || p.Path == "/dev/infiniband"
}

// unasked is the cure where nodes are here that nobody gave to this container.
var unasked = &check.Fix{
	Text:     "Request the RDMA resource in this container, and mount no /dev/infiniband: a mount shows the nodes, and only the device plugin has the runtime permit them.",
	Commands: []string{resourceLimit}, Who: check.User,
}

// fixes are the cures by cause.
var fixes = map[check.ID]*check.Fix{
	DeviceAllocated: {
		Text: "Request the RDMA resource and its network in the pod; `kubectl get network-attachment-definitions -o yaml` shows the names.",
		Commands: []string{`metadata:
  annotations:
    k8s.v1.cni.cncf.io/networks: NETWORK
spec:
  containers:
  - resources:
      limits:
        openshift.io/RESOURCE: "1"`}, Who: check.User,
	},
	AllocationConsistent: {
		Text: "The node's devices were renamed, or the rdma CNI did not move the device into the pod: recreate the pod; if it stays, restart the SR-IOV device plugin on its node.",
		Who:  check.Admin,
	},
	UverbsOpenable: {
		Text: "The resource pool must mount the verbs nodes: set isRdma in the SriovNetworkNodePolicy. Then, and where a node is there and not permitted, recreate the pod.",
		Commands: []string{`SriovNetworkNodePolicy spec:
  deviceType: netdevice
  isRdma: true`}, Who: check.Admin,
	},
	PortActive: {
		Text:     "Bring the physical port up: interface, cable, transceiver, switch port.",
		Commands: []string{"ip link set INTERFACE up", "ethtool INTERFACE"}, Who: check.Admin,
	},
	GIDUsable: {
		Text: "RoCE needs an IP address on the rail's interface in the pod: attach one network per rail, with IPAM.",
		Commands: []string{`SriovNetwork spec:
  ipam: '{"type": "whereabouts", "range": "10.1.0.0/16"}'`}, Who: check.Admin,
	},
	TransportSupported: {
		Text: "Use devices whose link layer is InfiniBand or Ethernet (RoCE); other transports need their own NCCL plugin.", Who: check.Admin,
	},
}
