// Package guest is the contract between the host and the virtual machines of the lab: the description of a machine,
// and how it is asked to do something.
package guest

import "net/netip"

// The 9p shares that a machine mounts, both read-only.
const (
	// OwnShare has ConfigFile and the files that it names.
	OwnShare = "own"
	// ProgramShare has the programs that all machines share: kubelet, containerd, containerd-shim-runc-v2, ctr, runc
	// and coredns, the CNI plugins in cni, the archives of images (Node.Images), and modules/rdma_rxe_lab.ko. The
	// device plugin is the lab's stand-in, unless RealDevicePlugin lies there, too.
	ProgramShare = "programs"
)

// RealDevicePlugin is sriov-network-device-plugin itself, in ProgramShare.
const RealDevicePlugin = "sriovdp"

// Init is the first process of a machine. With the argument RecordRDMANetlink it prints a netlink.Recording.
const (
	Init              = "/init"
	RecordRDMANetlink = "record-rdma-netlink"
)

// Where the shares and a machine's own things lie.
const (
	OwnFolder     = "/lab/own"
	ProgramFolder = "/lab/programs"
	LogFolder     = "/var/log/lab" // one file per service
)

// PauseImage is the image of every pod's sandbox; no registry has it.
const PauseImage = "lab.local/pause:1"

// ConfigFile holds a Config as JSON, in OwnShare.
const ConfigFile = "config.json"

// Config describes a machine.
type Config struct {
	Name  string `json:"name"`  // the host's name, and the node's
	Token string `json:"token"` // that the agent wants
	// Management is the card to the host: QEMU's user network, whose gateway is the host's loopback.
	Management Link       `json:"management"`
	Gateway    netip.Addr `json:"gateway"` // of the management network
	// Pods is the card between the nodes, for their pods' own network; nil: there is none.
	Pods  *Link   `json:"pods,omitempty"`
	Peers []Route `json:"peers,omitempty"` // the pods of the other nodes
	Cards []Card  `json:"cards,omitempty"`
	// SharedRDMA is false where each RDMA device belongs to one network namespace (rdma system set netns exclusive).
	SharedRDMA bool  `json:"sharedRDMA"`
	Node       *Node `json:"node,omitempty"` // nil: a machine without Kubernetes
}

// Link is a network card that is found by its MAC.
type Link struct {
	Name    string       `json:"name"` // that it gets: eno5np0
	MAC     string       `json:"mac"`
	Address netip.Prefix `json:"address,omitzero"` // none where it is zero
	MTU     int          `json:"mtu,omitempty"`    // 0: as it is
}

// Route leads to the pods of another node.
type Route struct {
	To  netip.Prefix `json:"to"`
	Via netip.Addr   `json:"via"`
}

// Card is a card with SR-IOV, whose virtual functions carry an RDMA device each.
type Card struct {
	Link      // of the physical function
	VFs  []VF `json:"vfs"`
}

// VF is one virtual function. Its netdev is named after its card: eno5np0v0.
type VF struct {
	MAC     string       `json:"mac"`
	HCA     string       `json:"hca"`              // name of its RDMA device: mlx5_0; "" for none
	Address netip.Prefix `json:"address,omitzero"` // for machines without Kubernetes; pods get theirs by CNI
}

// Node configures a machine as a node. File names refer to OwnShare.
type Node struct {
	Kubeconfig    string            `json:"kubeconfig"`    // of the kubelet
	CNIKubeconfig string            `json:"cniKubeconfig"` // of Multus, whereabouts and CoreDNS
	ClientCA      string            `json:"clientCA"`      // of the kubelet's clients
	KubeletPort   int               `json:"kubeletPort"`
	PodCIDR       netip.Prefix      `json:"podCIDR"`
	Images        []string          `json:"images"`    // archives in ProgramShare
	Resources     []Resource        `json:"resources"` // that the device plugin offers
	Memlock       uint64            `json:"memlock"`   // bytes per container; 0: the runtime's default, 1<<64-1: all
	Labels        map[string]string `json:"labels,omitempty"`
}

// Resource is offered by the device plugin: the virtual functions of a card.
type Resource struct {
	Name string `json:"name"` // openshift.io/eno5np0rdma
	Card string `json:"card"` // eno5np0
}
