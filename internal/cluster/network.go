package cluster

import (
	"cmp"
	"slices"
	"strings"
)

// Network is one NetworkAttachmentDefinition.
type Network struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Resource  string `json:"resource,omitempty"` // annotation k8s.v1.cni.cncf.io/resourceName: openshift.io/eno5np0rdma
	Type      string `json:"type,omitempty"`     // of the CNI plugin: sriov, ib-sriov, host-device, macvlan
	RDMA      bool   `json:"rdma,omitempty"`     // chains the rdma CNI plugin
	Config    string `json:"config,omitempty"`   // spec.config, JSON
	Owner     string `json:"owner,omitempty"`    // annotation sriovnetwork.openshift.io/owner-ref
	Broken    string `json:"broken,omitempty"`   // why spec.config could not be read
}

// SriovNetwork is one SriovNetwork or SriovIBNetwork of the SR-IOV operator, which makes a Network of it.
type SriovNetwork struct {
	Kind            string         `json:"kind"` // SriovNetwork, SriovIBNetwork
	Namespace       string         `json:"namespace"`
	Name            string         `json:"name"`
	TargetNamespace string         `json:"targetNamespace,omitempty"` // spec.networkNamespace; empty: its own
	ResourceName    string         `json:"resourceName"`              // without prefix: eno5np0rdma
	Spec            map[string]any `json:"spec,omitempty"`
}

// SriovPolicy is one SriovNetworkNodePolicy.
type SriovPolicy struct {
	Namespace    string            `json:"namespace"`
	Name         string            `json:"name"`
	ResourceName string            `json:"resourceName"`
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
	VFs          int               `json:"numVfs"`
	PFs          []string          `json:"pfNames,omitempty"` // eno5np0, eno5np0#0-3
	RootDevices  []string          `json:"rootDevices,omitempty"`
	Vendor       string            `json:"vendor,omitempty"`
	DeviceID     string            `json:"deviceID,omitempty"`
	DeviceType   string            `json:"deviceType,omitempty"` // netdevice, vfio-pci
	RDMA         bool              `json:"isRdma,omitempty"`
	LinkType     string            `json:"linkType,omitempty"`
	MTU          int               `json:"mtu,omitempty"`
}

// Selects reports whether the policy's nicSelector takes a NIC; a selector without any field takes none
// (sriov-network-operator pkg/webhook/validate.go).
func (p SriovPolicy) Selects(i SriovInterface) bool {
	if len(p.PFs) == 0 && len(p.RootDevices) == 0 && p.Vendor == "" && p.DeviceID == "" {
		return false
	}
	named := len(p.PFs) == 0 || slices.ContainsFunc(p.PFs, func(pf string) bool {
		name, _, _ := strings.Cut(pf, "#") // eno5np0#0-3: some of its virtual functions
		return name == i.Name
	})
	return named && (len(p.RootDevices) == 0 || slices.Contains(p.RootDevices, i.PCI)) &&
		(p.Vendor == "" || p.Vendor == i.Vendor) && (p.DeviceID == "" || p.DeviceID == i.DeviceID)
}

// SriovNode is one SriovNetworkNodeState.
type SriovNode struct {
	Namespace  string           `json:"namespace,omitempty"` // the operator's own
	Node       string           `json:"node"`
	SyncStatus string           `json:"syncStatus"` // Succeeded, InProgress, Failed
	SyncError  string           `json:"syncError,omitempty"`
	RDMAMode   string           `json:"rdmaMode,omitempty"` // shared, exclusive
	Interfaces []SriovInterface `json:"interfaces,omitempty"`
}

// SriovInterface is one physical function of a node.
type SriovInterface struct {
	Name      string `json:"name"` // eno5np0
	PCI       string `json:"pci"`
	Vendor    string `json:"vendor"`   // 15b3
	DeviceID  string `json:"deviceID"` // 1021
	Driver    string `json:"driver,omitempty"`
	LinkSpeed string `json:"linkSpeed,omitempty"` // 400000 Mb/s
	LinkType  string `json:"linkType,omitempty"`  // ETH, IB
	LinkState string `json:"linkState,omitempty"` // up, down
	MAC       string `json:"mac,omitempty"`
	MTU       int    `json:"mtu,omitempty"`
	TotalVFs  int    `json:"totalVfs,omitempty"`
	VFs       int    `json:"numVfs,omitempty"`
}

// RDMAVendors returns the PCI vendors whose virtual functions do RDMA as network devices: 15b3 is NVIDIA (Mellanox)
// ConnectX and BlueField. The SR-IOV operator supports isRdma for them.
func RDMAVendors() []string { return []string{"15b3"} }

// IsRDMANIC reports whether virtual functions of the interface do RDMA.
func (i SriovInterface) IsRDMANIC() bool { return slices.Contains(RDMAVendors(), i.Vendor) }

// SriovNamespace returns the namespace of the SR-IOV operator, the only one that it watches.
func (s State) SriovNamespace() string {
	namespace := ""
	for _, n := range s.SriovNodes {
		namespace = cmp.Or(namespace, n.Namespace)
	}
	for _, p := range s.SriovPolicies {
		namespace = cmp.Or(namespace, p.Namespace)
	}
	return cmp.Or(namespace, "openshift-sriov-network-operator")
}
