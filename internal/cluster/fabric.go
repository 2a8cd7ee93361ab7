package cluster

import (
	"regexp"
	"slices"
	"strings"
)

// EFAResource is the resource of the device plugin of AWS's Elastic Fabric Adapter (aws/eks-charts
// aws-efa-k8s-device-plugin).
const EFAResource = "vpc.amazonaws.com/efa"

// IsEFA reports whether a resource is AWS's Elastic Fabric Adapter. NCCL's own RDMA transport cannot use it: it has no
// reliable connections of verbs, only libfabric's efa provider (rdma-core providers/efa), which NCCL reaches through
// the plugin aws-ofi-nccl.
func IsEFA(resource string) bool { return resource == EFAResource }

// IsEFA reports whether the device is an Elastic Fabric Adapter, by what dranet reads of its PCI function.
func (d DRADevice) IsEFA() bool {
	vendor := d.Attribute[DRANet+"/pciVendor"]
	device := d.Attribute[DRANet+"/pciDevice"]
	return strings.HasPrefix(d.Driver, "efa.") ||
		(strings.Contains(vendor, "Amazon") || vendor == "1d0f") && strings.Contains(strings.ToUpper(device), "EFA")
}

// EFAOffers returns where nodes offer Elastic Fabric Adapters: the resource, or DRA drivers.
func EFAOffers(s State) []string {
	var all []string
	for _, o := range s.RDMAOffers() {
		if IsEFA(o.Resource) && len(o.Nodes()) > 0 {
			all = append(all, o.Resource)
		}
	}
	for _, d := range s.DRADevices {
		if d.RDMA && d.IsEFA() && !slices.Contains(all, d.Driver) {
			all = append(all, d.Driver)
		}
	}
	return all
}

// OnlyEFA reports whether nodes offer Elastic Fabric Adapters, and no RDMA device that NCCL itself can use.
func OnlyEFA(s State) bool {
	verbs := func(o Offer) bool { return !IsEFA(o.Resource) && len(o.Nodes()) > 0 }
	return len(EFAOffers(s)) > 0 && !slices.ContainsFunc(s.RDMAOffers(), verbs) &&
		!slices.ContainsFunc(s.DRADevices, func(d DRADevice) bool { return d.RDMA && !d.IsEFA() })
}

// vendorResources are resources of device plugins that offer RDMA devices alone, with what offers them.
var vendorResources = []struct {
	name *regexp.Regexp
	what string
}{
	{regexp.MustCompile(`^rdma/`), "prefix rdma/ of the shared RDMA device plugin"},
	{regexp.MustCompile(`^amd\.com/v?nic$`), "NICs of AMD's network operator"},
	{regexp.MustCompile(`^` + regexp.QuoteMeta(EFAResource) + `$`), "Elastic Fabric Adapters of AWS"},
	{regexp.MustCompile(`^nvidia\.com/[a-z0-9_-]*nics?$`), "NICs of NVIDIA's network operator"},
	{regexp.MustCompile(`^mellanox\.com/`), "prefix mellanox.com/ of NVIDIA's NICs"},
}

// infiniBandName matches the base names that administrators give to InfiniBand resources: ib, shared_ib, ib-pf.
var infiniBandName = regexp.MustCompile(`(?i)infiniband|(^|[^a-z])ib([^a-z]|$)`)

// sharedDevices is a number of devices that no node has: a plugin that offers more lets several pods share them
// (k8s-rdma-shared-dev-plugin rdmaHcaMax).
const sharedDevices = 32

// PluginRails are the rails that pods get by requesting a resource alone: InfiniBand needs neither an address nor an
// interface in the pod, and so no network attachment. There is one for each device that a pod can request.
func PluginRails(s State) []Rail {
	if !s.Knows(Nodes) {
		return nil
	}
	var rails []Rail
	for _, o := range s.RDMAOffers() {
		if isInfiniBand(s, o.Resource) && len(o.Nodes()) > 0 {
			r := Rail{Resource: o.Resource, RDMA: true, PerNode: o.PerNode}
			rails = append(rails, slices.Repeat([]Rail{r}, perPod(s, o))...)
		}
	}
	return rails
}

// isInfiniBand reports whether a device plugin is known to offer a resource of InfiniBand devices that pods get without
// an attachment. A virtual function of the SR-IOV operator gets its GUID by one (sriov-network-operator, ib-sriov-cni).
func isInfiniBand(s State, resource string) bool {
	_, base, _ := strings.Cut(resource, "/")
	bySriov := func(p SriovPolicy) bool { return p.ResourceName == base }
	attached := func(n Network) bool { return n.Resource == resource }
	if slices.ContainsFunc(s.SriovPolicies, bySriov) || slices.ContainsFunc(s.Networks, attached) {
		return false
	}
	for _, r := range s.NvidiaResources {
		if r.Resource == resource && len(r.LinkTypes) > 0 {
			return r.InfiniBand()
		}
	}
	return infiniBandName.MatchString(base)
}

// perPod returns how many devices of an offer a pod can request: as many as most nodes have, one of shared devices.
func perPod(s State, o Offer) int {
	shared := func(r NvidiaResource) bool { return r.Resource == o.Resource && r.Shared }
	if slices.ContainsFunc(s.NvidiaResources, shared) || strings.Contains(o.Resource, "shared") {
		return 1
	}
	nodes := map[int64]int{}
	var most int64
	for _, name := range o.Nodes() {
		count := o.PerNode[name]
		if nodes[count]++; nodes[count] > nodes[most] || nodes[count] == nodes[most] && count > most {
			most = count
		}
	}
	if most > sharedDevices {
		return 1
	}
	return int(most)
}

// hostDevices is the type of the attachments of AMD's network operator: each brings the next NIC that the pod was
// given, so that a pod names one attachment once for each NIC (rocm/network-operator docs, amd-host-device).
const hostDevices = "amd-host-device"

// eachDevice repeats the rails whose attachment brings another device each time that a pod names it.
func eachDevice(s State, rails []Rail) []Rail {
	var all []Rail
	for _, r := range rails {
		n := 1
		if r.Type == hostDevices {
			n = max(perPod(s, Offer{Resource: r.Resource, PerNode: r.PerNode}), 1)
		}
		all = append(all, slices.Repeat([]Rail{r}, n)...)
	}
	return all
}
