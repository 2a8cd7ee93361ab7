// Package host describes one machine or pod as a value, the Snapshot.
package host

import (
	"net/netip"
	"time"
)

// SchemaVersion is the version of the Snapshot's JSON form. Readers accept unknown fields.
const SchemaVersion = 1

// Snapshot is everything known about one machine or pod at one moment: a value, written once, never changed.
type Snapshot struct {
	SchemaVersion int       `json:"schemaVersion"`
	Taken         time.Time `json:"taken,omitzero"`

	Node      Fact[string] `json:"node,omitzero"`
	Pod       Fact[string] `json:"pod,omitzero"`       // hostname: the pod's name unless spec.hostname is set
	Namespace Fact[string] `json:"namespace,omitzero"` // of the mounted service account
	Kernel    Fact[string] `json:"kernel,omitzero"`    // uname -r
	Cmdline   Fact[string] `json:"cmdline,omitzero"`   // kernel command line

	Devices    []Device     `json:"devices,omitempty"`   // /sys/class/infiniband
	Uverbs     []Uverbs     `json:"uverbs,omitempty"`    // /sys/class/infiniband_verbs and /dev/infiniband
	VerbsNodes Fact[int]    `json:"verbsNodes,omitzero"` // of /dev/infiniband; absent in a capture of /sys alone
	RDMANetns  Fact[string] `json:"rdmaNetns,omitzero"`  // "shared" or "exclusive": may pods see each other's HCAs
	Functions  []Function   `json:"functions,omitempty"` // PCI functions that the environment or DRA names
	Links      []Link       `json:"links,omitempty"`     // /sys/class/net of this network namespace
	Routes     []Route      `json:"routes,omitempty"`    // default routes
	// Lookups are the routes from each rail to the networks of the others.
	Lookups    []Lookup          `json:"lookups,omitempty"`
	Neighbours []Neighbour       `json:"neighbours,omitempty"` // IPv4 only
	ARP        ARPRules          `json:"arp,omitzero"`         // of all interfaces; a Link's own may be stricter
	Bridges    []Function        `json:"bridges,omitempty"`    // PCI ports above GPUs and HCAs
	Modules    []string          `json:"modules,omitempty"`    // loaded modules that matter for RDMA
	Verbs      *VerbsLibrary     `json:"verbs,omitempty"`      // nil if libraries are not visible
	Runtime    *Runtime          `json:"runtime,omitempty"`    // of a node: nil in containers
	Launched   map[string]string `json:"launched,omitempty"`   // set by `railhead-pod run`; "": left unset
	GPUs       []GPU             `json:"gpus,omitempty"`       //
	// DataDirect has the functions through which ConnectX-8 NICs reach GPUs past the CPU. /sys does not tell which NIC
	// one belongs to.
	DataDirect []Function `json:"dataDirect,omitempty"`
	NUMANodes  Fact[int]  `json:"numaNodes,omitzero"` // how many the machine has
	GPUDirect  GPUDirect  `json:"gpuDirect,omitzero"` //
	IOMMU      IOMMU      `json:"iommu,omitzero"`     //
	Limits     Limits     `json:"limits,omitzero"`    //
	NCCL       NCCL       `json:"nccl,omitzero"`      //
	Topology   *Topology  `json:"topology,omitempty"` // nil if NCCL takes the paths from /sys
	// IMEXChannels counts the channels of this container, by which NVLink joins GPUs of several nodes (MNNVL); absent
	// without any.
	IMEXChannels Fact[int]  `json:"imexChannels,omitzero"`
	Wire         Fact[Wire] `json:"wire,omitzero"` // absent if the kernel has no RDMA

	NetworkStatus []NetworkStatus `json:"networkStatus,omitempty"` // k8s.v1.cni.cncf.io/network-status
	Claims        []ClaimDevice   `json:"claims,omitempty"`        // DRA metadata files

	Env      map[string]string `json:"env,omitempty"`      // allow-listed names only
	Problems []Problem         `json:"problems,omitempty"` // everything that could not be read

	// Earlier has the counters and the queue pairs of an earlier reading of the same machine, if it was read twice.
	Earlier *Snapshot `json:"earlier,omitempty"`
}

// Counted returns the part of a Snapshot that a later one is compared with.
func (s Snapshot) Counted() *Snapshot {
	return &Snapshot{SchemaVersion: s.SchemaVersion, Taken: s.Taken, Devices: s.Devices, Links: s.Links, Wire: s.Wire}
}

// Problem is one thing that could not be read.
type Problem struct {
	Path string `json:"path"`
	Op   string `json:"op"` // read, list, readlink, open, parse
	Err  string `json:"err"`
}

// Device is one RDMA device (HCA, VF or software device) of /sys/class/infiniband.
type Device struct {
	Name         string         `json:"name"`                  // mlx5_6
	NodeType     Fact[string]   `json:"nodeType,omitzero"`     // "CA"; "RNIC" is iWARP
	NodeGUID     Fact[string]   `json:"nodeGUID,omitzero"`     //
	SysImageGUID Fact[string]   `json:"sysImageGUID,omitzero"` // equal for all functions of one card
	Firmware     Fact[string]   `json:"firmware,omitzero"`     //
	HCAType      Fact[string]   `json:"hcaType,omitzero"`      // MT4129
	BoardID      Fact[string]   `json:"boardID,omitzero"`      //
	Parent       Fact[string]   `json:"parent,omitzero"`       // netdev under a software device (rxe, siw)
	Auxiliary    Fact[string]   `json:"auxiliary,omitzero"`    // mlx5_core.sf.4: a subfunction
	Function     Fact[Function] `json:"function,omitzero"`     // the PCI function behind it
	Netdevs      []string       `json:"netdevs,omitempty"`     // its interfaces in this network namespace
	Ports        []Port         `json:"ports,omitempty"`       //
}

// IsSoftware reports whether the device is Soft-RoCE or siw: verbs without RDMA hardware.
func (d Device) IsSoftware() bool { return d.Parent.IsKnown() }

// IsVirtual reports whether the device is a VF or a subfunction.
func (d Device) IsVirtual() bool { return d.Auxiliary.IsKnown() || d.Function.Value.IsVF() }

// Function is one PCI function.
type Function struct {
	Address    PCIAddress       `json:"address"`
	Present    bool             `json:"present"` // false: the address is not in /sys/bus/pci/devices
	Path       Fact[PCIPath]    `json:"path,omitzero"`
	Class      Fact[string]     `json:"class,omitzero"`  // 0x020000
	Vendor     Fact[string]     `json:"vendor,omitzero"` // 0x15b3
	Device     Fact[string]     `json:"device,omitzero"` // 0x101e
	Driver     Fact[string]     `json:"driver,omitzero"`
	PhysFn     Fact[PCIAddress] `json:"physfn,omitzero"` // the PF of a VF
	NumVFs     Fact[int]        `json:"numVFs,omitzero"` // of a PF
	TotalVFs   Fact[int]        `json:"totalVFs,omitzero"`
	NUMANode   Fact[int]        `json:"numaNode,omitzero"`
	IOMMUGroup Fact[int]        `json:"iommuGroup,omitzero"`
	IOMMUType  Fact[string]     `json:"iommuType,omitzero"` // identity, DMA, DMA-FQ
	Link       Fact[PCILink]    `json:"link,omitzero"`      // of a VF: its PF's
	Config     PCIConfig        `json:"config,omitzero"`    // of HCAs, GPUs and the bridges above them
}

// IsVF reports whether the function is an SR-IOV virtual function.
func (f Function) IsVF() bool { return f.PhysFn.IsKnown() }

// Slot returns the address of the card's first function: the ports of a card differ in the function number, and share
// one PCIe link. A VF uses the link of its PF.
func (f Function) Slot() PCIAddress {
	a := f.PhysFn.Or(f.Address)
	a.Function = 0
	return a
}

// PCILink is a PCI Express link, as it runs and as it could.
type PCILink struct {
	GTs      float64 `json:"gts"`      // GT/s per lane
	Width    int     `json:"width"`    // lanes
	MaxGTs   float64 `json:"maxGTs"`   //
	MaxWidth int     `json:"maxWidth"` //
}

// The two link layers of RDMA ports.
const (
	InfiniBand = "InfiniBand"
	Ethernet   = "Ethernet" // RoCE
)

// Port is one port of a Device.
type Port struct {
	Number    int          `json:"number"`
	State     Fact[string] `json:"state,omitzero"`     // ACTIVE, DOWN, INIT, ARMED
	PhysState Fact[string] `json:"physState,omitzero"` // LinkUp, Polling, Disabled
	Rate      Fact[Rate]   `json:"rate,omitzero"`
	LinkLayer Fact[string] `json:"linkLayer,omitzero"`
	LID       Fact[int]    `json:"lid,omitzero"`
	SMLID     Fact[int]    `json:"smLID,omitzero"`
	GIDs      []GID        `json:"gids,omitempty"` // filled slots only
	// GIDTable is the number of slots; absent when the table was read only as far as a decision needed it.
	GIDTable Fact[int]         `json:"gidTable,omitzero"`
	Counters map[string]uint64 `json:"counters,omitempty"` // counters and hw_counters; absent in shared-mode pods
}

// Rate is the signalling rate of a port.
type Rate struct {
	Gbps  float64
	Lanes int
	Speed string // SDR ... NDR, XDR
}

// GID is one filled slot of a port's GID table.
type GID struct {
	Index  int          `json:"index"`
	Addr   netip.Addr   `json:"addr"`            // 16 bytes; IPv4 as ::ffff:a.b.c.d
	Type   Fact[string] `json:"type,omitzero"`   // "RoCE v2", "IB/RoCE v1"
	Netdev Fact[string] `json:"netdev,omitzero"` // name in its own namespace, which need not be this one
}

// IsRoCEv2 reports whether the slot is a routable RoCE v2 one.
func (g GID) IsRoCEv2() bool { return g.Type.Value == "RoCE v2" }

// IP returns the address; an IPv4-mapped one as IPv4.
func (g GID) IP() netip.Addr { return g.Addr.Unmap() }

// Access is the result of opening a character device.
type Access string

// The outcomes of the probe.
const (
	Openable  Access = "openable"
	Denied    Access = "not permitted"
	Missing   Access = "missing" // the node is not in /dev/infiniband
	NotProbed Access = "not probed"
	Broken    Access = "error" // there, permitted, and open fails otherwise
)

// MayOpen reports whether the device can be opened, or was not probed.
func (a Access) MayOpen() bool { return a == Openable || a == NotProbed }

// Uverbs is one verbs character device.
type Uverbs struct {
	Name   string       `json:"name"`            // uverbs6
	Device Fact[string] `json:"device,omitzero"` // RDMA device, from ibdev
	Access Access       `json:"access"`          //
	Why    string       `json:"why,omitempty"`   // error text for Denied and Broken
}

// Link is one network interface of this network namespace.
type Link struct {
	Name      string               `json:"name"`
	Index     Fact[int]            `json:"index,omitzero"`
	LowerLink Fact[int]            `json:"lowerLink,omitzero"` // iflink: differs from index for veth, macvlan, vlan
	MAC       Fact[string]         `json:"mac,omitzero"`
	MTU       Fact[int]            `json:"mtu,omitzero"`
	Up        Fact[bool]           `json:"up,omitzero"`      // administratively
	Running   Fact[bool]           `json:"running,omitzero"` // IFF_RUNNING: up, and able to pass packets
	Carrier   Fact[bool]           `json:"carrier,omitzero"` // absent while the link is administratively down
	OperState Fact[string]         `json:"operState,omitzero"`
	PCI       Fact[PCIAddress]     `json:"pci,omitzero"`
	Addresses Fact[[]netip.Prefix] `json:"addresses,omitzero"`
	// CarrierChanges counts how often the link went up or down since it was made.
	CarrierChanges Fact[int] `json:"carrierChanges,omitzero"`
	ARP            ARPRules  `json:"arp,omitzero"` // of rails only
	VFs            []VF      `json:"vfs,omitempty"`
}

// Route is a default route.
type Route struct {
	Link   string `json:"link"`
	Family string `json:"family"` // inet, inet6
	Metric uint32 `json:"metric"`
}

// GPU is a PCI display or 3D controller other than the board's console.
type GPU struct {
	Function Function     `json:"function"`
	Model    Fact[string] `json:"model,omitzero"`
	UUID     Fact[string] `json:"uuid,omitzero"`
	Minor    Fact[int]    `json:"minor,omitzero"` // /dev/nvidia<minor>
	Given    Fact[bool]   `json:"given,omitzero"` // the device node is in this container; absent of another machine
}

// GPUDirect has the drivers and files that GPUDirect RDMA depends on.
type GPUDirect struct {
	// Peermem lists the files by which NCCL finds a peer-memory module (NCCL src/misc/gdrwrap, facts by version).
	Peermem []string `json:"peermem,omitempty"`
	// DriverVersion is the NVIDIA kernel driver's.
	DriverVersion Fact[string] `json:"driverVersion,omitzero"`
	// OpenModules reports NVIDIA's open kernel modules, which DMA-BUF needs.
	OpenModules Fact[bool] `json:"openModules,omitzero"`
	// PeerClients are the modules that registered with ib_core for peer memory.
	PeerClients []string `json:"peerClients,omitempty"`
}

// IOMMU describes the machine. For a device the type of its Function's group counts.
type IOMMU struct {
	Units  []string  `json:"units,omitempty"` // dmar0 (Intel), ivhd0 (AMD), smmu3...
	Groups Fact[int] `json:"groups,omitzero"` // 0: no IOMMU, or it is off
}

// Unlimited is RLIM_INFINITY.
const Unlimited Limit = 1<<64 - 1

// Limit is a resource limit in bytes.
type Limit uint64

// Limits are the limits and privileges of this process.
type Limits struct {
	MemlockSoft   Fact[Limit]  `json:"memlockSoft,omitzero"`
	MemlockHard   Fact[Limit]  `json:"memlockHard,omitzero"`
	UID           Fact[int]    `json:"uid,omitzero"` // effective
	CapEff        Fact[Caps]   `json:"capEff,omitzero"`
	CapPrm        Fact[Caps]   `json:"capPrm,omitzero"`
	CapInh        Fact[Caps]   `json:"capInh,omitzero"`
	CapBnd        Fact[Caps]   `json:"capBnd,omitzero"`
	CapAmb        Fact[Caps]   `json:"capAmb,omitzero"`
	NoNewPrivs    Fact[bool]   `json:"noNewPrivs,omitzero"`
	InitialUserNS Fact[bool]   `json:"initialUserNS,omitzero"` // capabilities count for memlock only there
	ShmBytes      Fact[uint64] `json:"shmBytes,omitzero"`      // size of /dev/shm
	ShmFree       Fact[uint64] `json:"shmFree,omitzero"`       // of it
	// Lockable is the size in bytes of the largest mapping that this process could lock, absent if it was not tried.
	Lockable Fact[uint64] `json:"lockable,omitzero"`
	// Main is the command of `railhead-pod run`, otherwise this container's first process.
	MainMemlock Fact[Limit]  `json:"mainMemlock,omitzero"`
	MainCapEff  Fact[Caps]   `json:"mainCapEff,omitzero"`
	MemTotal    Fact[uint64] `json:"memTotal,omitzero"` // bytes of RAM of the machine
}

// NetworkStatus is one interface that multus attached.
type NetworkStatus struct {
	Name       string           `json:"name"` // namespace/attachment
	Interface  string           `json:"interface"`
	IPs        []string         `json:"ips,omitempty"`
	Default    bool             `json:"default,omitempty"`
	PCI        Fact[PCIAddress] `json:"pci,omitzero"`
	RDMADevice string           `json:"rdmaDevice,omitempty"`
}

// ClaimDevice is one device of a DRA resource claim (KEP-5304 metadata).
type ClaimDevice struct {
	Claim      string           `json:"claim"`
	Request    string           `json:"request"`
	Driver     string           `json:"driver"`
	Name       string           `json:"name"`
	PCI        Fact[PCIAddress] `json:"pci,omitzero"`
	RDMADevice string           `json:"rdmaDevice,omitempty"`
	Interface  string           `json:"interface,omitempty"`
}

// Link returns the named interface of this namespace.
func (s *Snapshot) Link(name string) (Link, bool) {
	for _, l := range s.Links {
		if l.Name == name {
			return l, true
		}
	}
	return Link{}, false
}

// Device returns the named RDMA device.
func (s *Snapshot) Device(name string) (Device, bool) {
	for i := range s.Devices { // a Device is large
		if s.Devices[i].Name == name {
			return s.Devices[i], true
		}
	}
	return Device{}, false
}
