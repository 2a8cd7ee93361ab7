package cluster

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/words"
)

// Offer is one resource of the nodes through which pods get RDMA devices.
type Offer struct {
	Resource string           `json:"resource"` // openshift.io/eno5np0rdma
	PerNode  map[string]int64 `json:"perNode"`  // allocatable by node, also where a node names it with 0
	Why      []string         `json:"why"`      // evidence that it is RDMA
}

// Nodes are the nodes that offer at least one, sorted.
func (o Offer) Nodes() []string { return offering(o.PerNode) }

func offering(perNode map[string]int64) []string {
	var nodes []string
	for _, name := range slices.Sorted(maps.Keys(perNode)) {
		if perNode[name] > 0 {
			nodes = append(nodes, name)
		}
	}
	return nodes
}

// RDMAOffers are the resources of nodes through which pods get RDMA devices, sorted by name. Devices that DRA drivers
// offer are no resources: they are in DRAOffers.
func (s State) RDMAOffers() []Offer {
	perResource := map[string]map[string]int64{}
	for _, n := range s.Nodes {
		for resource, count := range n.Allocatable {
			if perResource[resource] == nil {
				perResource[resource] = map[string]int64{}
			}
			perResource[resource][n.Name] = count
		}
	}
	var offers []Offer
	for _, resource := range slices.Sorted(maps.Keys(perResource)) {
		if why, not := s.rdmaEvidence(resource); len(why) > 0 && not == "" {
			offers = append(offers, Offer{Resource: resource, PerNode: perResource[resource], Why: why})
		}
	}
	return offers
}

// IsRDMA reports whether pods get an RDMA device through a resource, as far as its name, policies and attachments tell.
func (s State) IsRDMA(resource string) bool {
	why, not := s.rdmaEvidence(resource)
	return len(why) > 0 && not == ""
}

// ResourceNames returns the qualified names under which a resource of an SriovNetworkNodePolicy is known to the
// cluster: those that nodes and attachments use, else the operator's default.
func (s State) ResourceNames(base string) []string {
	var names []string
	add := func(resource string) {
		if _, name, qualified := strings.Cut(resource, "/"); qualified && name == base &&
			!slices.Contains(names, resource) {
			names = append(names, resource)
		}
	}
	for _, n := range s.Nodes {
		for resource := range n.Allocatable {
			add(resource)
		}
	}
	for _, n := range s.Networks {
		add(n.Resource)
	}
	if len(names) == 0 {
		return []string{"openshift.io/" + base}
	}
	slices.Sort(names)
	return names
}

// DRAOffer is the RDMA devices that one DRA driver offers, counted by node.
type DRAOffer struct {
	Driver  string           `json:"driver"`
	PerNode map[string]int64 `json:"perNode"`
}

// Nodes are the nodes that offer at least one, sorted.
func (o DRAOffer) Nodes() []string { return offering(o.PerNode) }

// DRAOffers are the RDMA devices in the cluster's ResourceSlices, by driver. Pods get them by claims, not by resources.
func (s State) DRAOffers() []DRAOffer {
	perDriver := map[string]map[string]int64{}
	for _, d := range s.DRADevices {
		if !d.RDMA {
			continue
		}
		if perDriver[d.Driver] == nil {
			perDriver[d.Driver] = map[string]int64{}
		}
		perDriver[d.Driver][d.Node]++
	}
	var offers []DRAOffer
	for _, driver := range slices.Sorted(maps.Keys(perDriver)) {
		offers = append(offers, DRAOffer{Driver: driver, PerNode: perDriver[driver]})
	}
	return offers
}

// deviceTypes are the CNI plugins that move a device of the node, with its RDMA device, into the pod.
var deviceTypes = []string{"sriov", "ib-sriov", "host-device", hostDevices}

// rdmaName matches the base names that administrators commonly give to RDMA resources: rdma_shared_device_a, mlx5_0,
// hca_shared_devices, roce_gdr.
var rdmaName = regexp.MustCompile(`(?i)rdma|roce|infiniband|mlx|mellanox|(^|[^a-z])hca`)

// rdmaEvidence returns the evidence for and against a resource being RDMA.
func (s State) rdmaEvidence(resource string) (why []string, not string) {
	_, base, qualified := strings.Cut(resource, "/")
	if !qualified || IsGPU(resource) || strings.HasPrefix(resource, "hugepages-") {
		return nil, ""
	}
	why, not = s.policyEvidence(base)
	if not != "" {
		return nil, not
	}
	for _, n := range s.Networks {
		if n.Resource == resource && slices.Contains(deviceTypes, n.Type) {
			why = append(why,
				fmt.Sprintf("NetworkAttachmentDefinition %s/%s of type %s names it", n.Namespace, n.Name, n.Type))
			break // the first of many copies is enough
		}
	}
	for _, v := range vendorResources {
		if v.name.MatchString(resource) {
			why = append(why, v.what)
		}
	}
	for _, r := range s.NvidiaResources {
		if r.Resource == resource && r.RDMA {
			why = append(why, "NicClusterPolicy "+r.Policy+" offers it for RDMA")
			break
		}
	}
	if rdmaName.MatchString(base) {
		why = append(why, "its name")
	}
	return why, ""
}

// policyEvidence returns the policies that make an RDMA resource of the name, or one that makes another if none does.
func (s State) policyEvidence(base string) (why []string, not string) {
	for _, p := range s.SriovPolicies {
		switch {
		case p.ResourceName != base:
		case p.RDMA && p.DeviceType != "vfio-pci":
			why = append(why, "SriovNetworkNodePolicy "+p.Name+" has isRdma: true")
		case not == "":
			not = fmt.Sprintf("SriovNetworkNodePolicy %s has isRdma: %t, deviceType: %s",
				p.Name, p.RDMA, cmp.Or(p.DeviceType, "netdevice"))
		}
	}
	if len(why) > 0 {
		not = ""
	}
	return why, not
}

// Rail is one network attachment of a namespace, an RDMA port that DRA drivers offer, or a resource that needs no
// attachment, as a way for pods to get an RDMA device.
type Rail struct {
	Namespace string           `json:"namespace"`
	Network   string           `json:"network"`            // attachment, or port; "": the resource alone
	Resource  string           `json:"resource,omitempty"` // openshift.io/eno5np0rdma
	Type      string           `json:"type,omitempty"`
	Driver    string           `json:"driver,omitempty"`    // of DRA, if pods claim it
	Attribute string           `json:"attribute,omitempty"` // that has the name of the port
	RDMA      bool             `json:"rdma"`                // it is meant to bring an RDMA device
	PerNode   map[string]int64 `json:"perNode,omitempty"`   // allocatable by node
	Reason    string           `json:"reason,omitempty"`    // why no pod gets an RDMA device through it, or ""
}

// Usable reports whether pods get an RDMA device through it, as far as is known.
func (r Rail) Usable() bool { return r.Reason == "" }

// Nodes are the nodes that offer at least one of its resource, sorted.
func (r Rail) Nodes() []string { return offering(r.PerNode) }

// Rails are the network attachments of a namespace in the order of their names, those that give no RDMA device with the
// reason.
func (s State) Rails(namespace string) []Rail {
	var rails []Rail
	for _, n := range s.Networks {
		if n.Namespace != namespace {
			continue
		}
		r := Rail{Namespace: n.Namespace, Network: n.Name, Resource: n.Resource, Type: n.Type}
		for _, node := range s.Nodes {
			if count, named := node.Allocatable[n.Resource]; named {
				if r.PerNode == nil {
					r.PerNode = map[string]int64{}
				}
				r.PerNode[node.Name] = count
			}
		}
		why, not := s.rdmaEvidence(n.Resource)
		r.RDMA = not == "" && (len(why) > 0 || slices.Contains(deviceTypes, n.Type))
		r.Reason = s.noRail(n, r)
		rails = append(rails, r)
	}
	slices.SortFunc(rails, func(a, b Rail) int { return strings.Compare(a.Network, b.Network) })
	return rails
}

// AttachedRails are the network attachments of a namespace through which pods get RDMA devices.
func AttachedRails(s State, namespace string) []Rail {
	return slices.DeleteFunc(s.Rails(namespace), func(r Rail) bool { return !r.Usable() })
}

// UsableRails are the rails of a pod of a namespace: one for each device. Without an attachment that brings one, they
// are the resources that need none.
func (s State) UsableRails(namespace string) []Rail {
	if attached := AttachedRails(s, namespace); len(attached) > 0 {
		return eachDevice(s, attached)
	}
	return PluginRails(s)
}

// noRail explains why pods get no RDMA device through an attachment.
func (s State) noRail(n Network, r Rail) string {
	why, not := s.rdmaEvidence(n.Resource)
	switch {
	case n.Broken != "":
		return "its configuration cannot be read: " + n.Broken
	case n.Resource == "":
		return "no annotation k8s.v1.cni.cncf.io/resourceName: it adds no device"
	case not != "":
		return n.Resource + " is not RDMA: " + not
	case len(why) == 0:
		return "nothing says that " + n.Resource + " is RDMA"
	case s.Knows(Nodes) && len(r.PerNode) == 0:
		return "no node offers " + n.Resource
	case s.Knows(Nodes) && len(r.Nodes()) == 0:
		return fmt.Sprintf("0 of %s on %s", n.Resource, words.Few(slices.Sorted(maps.Keys(r.PerNode)), 4))
	}
	return ""
}

// SimilarResources returns the resources that could be meant by one that no node offers: names like it, else the RDMA
// resources there are.
func (s State) SimilarResources(resource string) []string {
	var offered []string
	for _, o := range s.RDMAOffers() {
		if len(o.Nodes()) > 0 {
			offered = append(offered, o.Resource)
		}
	}
	if near := words.Nearest(resource, offered); len(near) > 0 {
		return near
	}
	return offered[:min(len(offered), 4)]
}

// RailNames returns the names of rails. A rail that pods get by its resource alone has none.
func RailNames(rails []Rail) []string {
	var all []string
	for _, r := range rails {
		if r.Network != "" {
			all = append(all, r.Network)
		}
	}
	return all
}
