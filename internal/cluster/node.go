package cluster

import (
	"slices"
	"strings"
)

// Node is one node. Labels are kept whole; of the annotations only those in MachineConfig.
type Node struct {
	Name          string            `json:"name"`
	Labels        map[string]string `json:"labels,omitempty"`
	Ready         bool              `json:"ready"`
	NotReady      string            `json:"notReady,omitempty"` // the condition's reason and message
	Unschedulable bool              `json:"unschedulable,omitempty"`
	Taints        []Taint           `json:"taints,omitempty"`
	Arch          string            `json:"arch"` // amd64, arm64
	OS            string            `json:"os,omitempty"`
	Kernel        string            `json:"kernel,omitempty"`
	Runtime       string            `json:"runtime,omitempty"` // cri-o://1.34.2
	Kubelet       string            `json:"kubelet,omitempty"`
	Address       string            `json:"address,omitempty"`    // InternalIP
	GatewayMAC    string            `json:"gatewayMAC,omitempty"` // of the NIC of the default network
	Allocatable   Resources         `json:"allocatable"`
	MachineConfig NodeConfig        `json:"machineConfig,omitzero"`
}

// Taint keeps pods without its toleration away.
type Taint struct {
	Key    string `json:"key"`
	Value  string `json:"value,omitempty"`
	Effect string `json:"effect"`
}

// NodeConfig is the machine-config-daemon's report about a node (annotations machineconfiguration.openshift.io/*,
// machine-config-operator pkg/daemon/constants/constants.go).
type NodeConfig struct {
	Current string `json:"current,omitempty"`
	Desired string `json:"desired,omitempty"`
	State   string `json:"state,omitempty"` // Done, Working, Rebooting, Degraded, Unreconcilable
	Reason  string `json:"reason,omitempty"`
}

// Resources are quantities by resource name: cpu in milli-cores, memory and storage in bytes, everything else in
// pieces.
type Resources map[string]int64

// Add sums another set into r.
func (r Resources) Add(more Resources) {
	for name, n := range more {
		r[name] += n
	}
}

// Fits reports whether want fits into r, and if not the first resource, by name, that is short.
func (r Resources) Fits(want Resources) (short string, ok bool) {
	for name, count := range want {
		if count > r[name] && (short == "" || name < short) {
			short = name
		}
	}
	return short, short == ""
}

// GPUResources returns the names under which device plugins offer whole GPUs.
func GPUResources() []string {
	return []string{"nvidia.com/gpu", "amd.com/gpu", "gpu.intel.com/i915", "gpu.intel.com/xe", "habana.ai/gaudi"}
}

// IsGPU reports whether a resource is a GPU, or a slice of one.
func IsGPU(resource string) bool {
	return slices.Contains(GPUResources(), resource) || strings.HasPrefix(resource, "nvidia.com/mig-")
}

// GPUs counts the GPUs, or slices of GPUs, of all types.
func (r Resources) GPUs() int64 {
	var n int64
	for name, count := range r {
		if IsGPU(name) {
			n += count
		}
	}
	return n
}

// GPUs returns the GPU resource that the node offers most of, and how many.
func (n Node) GPUs() (resource string, count int64) {
	for name, offered := range n.Allocatable {
		if IsGPU(name) && (offered > count || offered == count && count > 0 && name < resource) {
			resource, count = name, offered
		}
	}
	return resource, count
}

// GPUType is the GPU's product as feature discovery labels it; "" when nothing says.
func (n Node) GPUType() string {
	for _, label := range []string{"nvidia.com/gpu.product", "amd.com/gpu.product-name", "gpu.intel.com/product"} {
		if v := n.Labels[label]; v != "" {
			return v
		}
	}
	return ""
}

// Vendor is the CPU's vendor as node feature discovery labels it: Intel, AMD; "" when nothing says.
func (n Node) Vendor() string { return n.Labels["feature.node.kubernetes.io/cpu-model.vendor_id"] }

// Roles are the node's roles by its labels, sorted.
func (n Node) Roles() []string {
	var roles []string
	for label := range n.Labels {
		if role, ok := strings.CutPrefix(label, "node-role.kubernetes.io/"); ok && role != "" {
			roles = append(roles, role)
		}
	}
	slices.Sort(roles)
	return roles
}

// Schedulable reports whether new pods without tolerations can come to the node, and if not why.
func (n Node) Schedulable() (why string, ok bool) {
	switch {
	case !n.Ready:
		return strings.TrimSuffix("not Ready: "+n.NotReady, ": "), false
	case n.Unschedulable:
		return "cordoned", false
	}
	for _, t := range n.Taints {
		// GPU nodes are commonly tainted with the name of the GPU resource; jobs that ask for it tolerate it
		if t.Effect != "PreferNoSchedule" && !IsGPU(t.Key) {
			return "taint " + t.Key, false
		}
	}
	return "", true
}
