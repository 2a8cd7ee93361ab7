package cluster

import (
	"cmp"
	"regexp"
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
	Priority     int               `json:"priority,omitempty"` // 0 is the highest, 99 the lowest
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

// SelectsNode reports whether the policy's nodeSelector takes a node; an empty one takes all (sriov-network-operator
// api/v1/helper.go Selected).
func (p SriovPolicy) SelectsNode(n Node) bool {
	return len(p.NodeSelector) == 0 || Selects(p.NodeSelector, nil, n.Labels)
}

// SriovNode is one SriovNetworkNodeState.
type SriovNode struct {
	Namespace  string           `json:"namespace,omitempty"` // the operator's own
	Node       string           `json:"node"`
	SyncStatus string           `json:"syncStatus"` // Succeeded, InProgress, Failed
	SyncError  string           `json:"syncError,omitempty"`
	Drain      SriovDrain       `json:"drain,omitzero"`
	RDMAMode   string           `json:"rdmaMode,omitempty"` // shared, exclusive
	Interfaces []SriovInterface `json:"interfaces,omitempty"`
}

// SriovDrain is how far the operator is with the drain that a node needs before it changes it: annotations
// sriovnetwork.openshift.io/current-state and desired-state (sriov-network-operator pkg/consts/constants.go).
type SriovDrain struct {
	Current string `json:"current,omitempty"` // Idle, Draining, DrainComplete
	Desired string `json:"desired,omitempty"` // Idle, Drain_Required, Reboot_Required
}

// Waits reports whether the operator wants to drain the node and is not done with it.
func (d SriovDrain) Waits() bool {
	return (d.Desired == "Drain_Required" || d.Desired == "Reboot_Required") && d.Current != "DrainComplete"
}

// evicted matches a pod that a drain could not evict (k8s.io/kubectl pkg/drain/drain.go).
var evicted = regexp.MustCompile(`pods?/"?([a-z0-9][a-z0-9.-]*)"? -n "?([a-z0-9][a-z0-9-]*)`)

// Blockers returns the pods that, by the error of the operator, keep it from draining the node, as namespace/name.
func (n SriovNode) Blockers() []string {
	var pods []string
	for _, m := range evicted.FindAllStringSubmatch(n.SyncError, -1) {
		if pod := m[2] + "/" + m[1]; !slices.Contains(pods, pod) {
			pods = append(pods, pod)
		}
	}
	return pods
}

// LockedDown reports whether the operator refuses to configure NVIDIA's cards because the kernel is locked down, as it
// is with Secure Boot (sriov-network-operator pkg/host/internal/sriov ConfigSriovInterfaces).
func (n SriovNode) LockedDown() bool { return strings.Contains(n.SyncError, "kernel lockdown mode") }

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

	Wanted int            `json:"wantedVfs,omitempty"` // spec.interfaces numVfs; status has the others
	Groups map[string]int `json:"groups,omitempty"`    // spec.interfaces vfGroups: virtual functions by resource
}

// Down reports whether the interface has no link. The kernel gives the speed of an interface without a carrier as -1
// (Documentation/ABI/testing/sysfs-class-net). InfiniBand needs no interface that is up.
func (i SriovInterface) Down() bool {
	return strings.HasPrefix(i.LinkSpeed, "-1") || i.LinkState == "down" && !strings.EqualFold(i.LinkType, "IB")
}

// RDMAVendors returns the PCI vendors whose virtual functions do RDMA as network devices: 15b3 is NVIDIA (Mellanox)
// ConnectX and BlueField. The SR-IOV operator supports isRdma for them.
func RDMAVendors() []string { return []string{"15b3"} }

// IsRDMANIC reports whether virtual functions of the interface do RDMA.
func (i SriovInterface) IsRDMANIC() bool { return slices.Contains(RDMAVendors(), i.Vendor) }

// ethernetOnly are the drivers of NICs without RDMA: no driver of drivers/infiniband/hw attaches to their cards.
var ethernetOnly = []string{
	"atlantic", "e1000e", "ena", "gve", "i40e", "igb", "igc", "ixgbe", "nfp", "r8169", "sfc", "tg3", "virtio_net",
	"virtio-pci", "vmxnet3",
}

// intelRDMA are the cards of driver i40e with iWARP, of the family X722 (drivers/net/ethernet/intel/i40e
// i40e_devids.h). The others of that driver, X710, XL710 and XXV710, have no RDMA.
var intelRDMA = []string{"37ce", "37cf", "37d0", "37d1", "37d2", "37d3", "0dda"}

// intelEthernet are cards without RDMA of that driver, where the driver is not known.
var intelEthernet = []string{
	"1572", "1574", "1580", "1581", "1583", "1584", "1585", "1586", "1587", "1588", "1589", "158a", "158b",
}

// HasRDMA reports whether the card may have RDMA: false where its driver or its PCI ID says that it has none.
func (i SriovInterface) HasRDMA() bool {
	if strings.EqualFold(i.Vendor, "8086") && slices.Contains(intelRDMA, strings.ToLower(i.DeviceID)) {
		return true
	}
	intel := strings.EqualFold(i.Vendor, "8086") && slices.Contains(intelEthernet, strings.ToLower(i.DeviceID))
	return !intel && !slices.Contains(ethernetOnly, i.Driver)
}

// Card returns the interface's NIC by its PCI ID and driver: "8086:158a, driver i40e".
func (i SriovInterface) Card() string {
	card := i.Vendor + ":" + i.DeviceID
	if i.Driver != "" {
		card += ", driver " + i.Driver
	}
	return card
}

// HasSriovOperator reports whether the cluster has the SR-IOV operator.
func HasSriovOperator(s State) bool {
	return s.Server.Serves(SriovGroup) || len(s.SriovNodes) > 0 || len(s.SriovPolicies) > 0
}

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
