package cluster

import (
	"slices"
	"strings"
)

// NvidiaResource is one resource that NVIDIA's network operator lets a device plugin offer, by its NicClusterPolicy.
type NvidiaResource struct {
	Policy   string   `json:"policy"`
	Resource string   `json:"resource"` // nvidia.com/hostdev, rdma/rdma_shared_device_a
	RDMA     bool     `json:"rdma,omitempty"`
	Shared   bool     `json:"shared,omitempty"` // by several pods, each with an interface of its own
	Ports    []string `json:"ports,omitempty"`  // interfaces that it is limited to

	LinkTypes []string `json:"linkTypes,omitempty"` // selector of the plugin: infiniband, ether
}

// InfiniBand reports whether the resource is limited to InfiniBand devices (sriov-network-device-plugin README,
// linkTypes; k8s-rdma-shared-dev-plugin README, linkTypes).
func (r NvidiaResource) InfiniBand() bool {
	other := func(linkType string) bool {
		return !strings.EqualFold(linkType, "infiniband") && !strings.EqualFold(linkType, "ib")
	}
	return len(r.LinkTypes) > 0 && !slices.ContainsFunc(r.LinkTypes, other)
}
