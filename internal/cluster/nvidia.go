package cluster

// NvidiaResource is one resource that NVIDIA's network operator lets a device plugin offer, by its NicClusterPolicy.
type NvidiaResource struct {
	Policy   string   `json:"policy"`
	Resource string   `json:"resource"` // nvidia.com/hostdev, rdma/rdma_shared_device_a
	RDMA     bool     `json:"rdma,omitempty"`
	Shared   bool     `json:"shared,omitempty"` // by several pods, each with an interface of its own
	Ports    []string `json:"ports,omitempty"`  // interfaces that it is limited to
}
