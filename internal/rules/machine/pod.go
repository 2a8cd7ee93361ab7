package machine

import (
	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/nccl"
	"github.com/railhead/railhead/internal/rail"
)

// Checks of package rules/clusterrules, which explain why a pod was given no device.
const (
	podResources  = "pod-resources"
	rdmaRequested = "rdma-requested"
)

var (
	needsDevice = []check.ID{rail.DeviceAllocated}
	byRequest   = []check.ID{podResources, rdmaRequested}
	byPhysical  = []check.ID{PhysicalUp}
)

// podChecks need only the pod's view. Equally severe findings are listed in this order.
var podChecks = []check.Check[*subject]{
	{
		ID: rail.DeviceAllocated, Title: "the container was given an RDMA device, and only its own is used",
		ExplainedBy: byRequest, Run: allocated,
	},
	{ID: PhysicalUp, Title: physicalUpTitle, Needs: needsDevice, Run: physicalUp},
	{ID: VFGUID, Title: "every InfiniBand virtual function has a GUID", Needs: needsDevice, Run: vfGUID},
	{ID: rail.RDMANamespace, Title: "the RDMA device is in the pod's network namespace", Needs: needsDevice},
	{ID: rail.AllocationReadable, Title: "every variable of the device plugin can be read"},
	{
		ID: rail.AllocationConsistent, Title: "the device plugin, DRA, multus and sysfs agree",
		Needs: needsDevice, Run: allocations,
	},
	{
		ID: rail.UverbsOpenable, Title: "the verbs node of the device is in the container and opens",
		Needs: needsDevice, ExplainedBy: byRequest,
	},
	{ID: rail.TransportSupported, Title: "the device speaks InfiniBand or RoCE", Needs: needsDevice},
	{ID: rail.PortActive, Title: portActiveTitle, Needs: needsDevice, ExplainedBy: byPhysical, Run: portActive},
	{ID: rail.GIDUsable, Title: "a RoCE port has a GID with an address of this network namespace", Needs: needsDevice},
	{ID: rail.LinkLayerUniform, Title: "all rails have one link layer", Needs: needsDevice},
	{
		ID: rail.CarrierPresent, Title: "the rail's interface has a carrier",
		Needs: needsDevice, ExplainedBy: byPhysical, Run: carrier,
	},
	{
		ID: rail.ForeignHCAHidden, Title: "no device of another pod can be opened here",
		Needs: needsDevice, Run: foreignHCAs,
	},
	{
		ID: MemlockLimit, Title: "the process can lock all the memory it registers",
		Needs: []check.ID{IPCLockEffective}, ExplainedBy: []check.ID{RuntimeMemlock}, Run: memlockLimit,
	},
	{ID: IPCLockEffective, Title: "CAP_IPC_LOCK is effective where it was added", Run: ipcLock},
	{ID: VerbsLibrary, Title: "libibverbs is in the image, with the provider of the rails' driver", Run: verbsLibrary},
	{ID: nccl.SharedMemory, Title: "/dev/shm has room for NCCL and the data loaders", Run: sharedMemory},
	{ID: DisableEffective, Title: "NCCL_IB_DISABLE applies to every RDMA transport", Run: disableEffective},
	{
		ID: nccl.NetworkChoice, Title: "nothing in the environment forces TCP",
		Needs: []check.ID{rail.DeviceAllocated, DisableEffective},
	},
	{ID: nccl.HCAFilter, Title: "NCCL_IB_HCA selects the pod's rails and nothing else", Needs: needsDevice},
	{
		ID: nccl.GIDIndex, Title: "the GID index is right on every rail, for the NCCL in the image",
		Needs: needsDevice, Run: gidIndex,
	},
	{ID: FusionAvoided, Title: "NCCL does not join rails of different cards", Needs: needsDevice, Run: fusion},
	{ID: nccl.SocketInterface, Title: "bootstrap runs on one interface that every rank reaches", Needs: needsDevice},
	{ID: nccl.UserSetting, Title: "the user's settings fit this machine", Needs: needsDevice},
	{ID: nccl.LibraryDevices, Title: "UCX, NVSHMEM and libfabric use the pod's rails", Needs: needsDevice},
	{ID: nccl.GDRLevelKnown, Title: "NCCL_NET_GDR_LEVEL is a level that NCCL knows"},
	{ID: RailARP, Title: "rails in one subnet do not answer ARP for each other", Needs: needsDevice, Run: railARP},
	{
		ID: RailsRoutable, Title: "rails reach each other's networks where NCCL needs it",
		Needs: needsDevice, Run: railsRoutable,
	},
	{ID: RailMTU, Title: "every rail's MTU fits RoCE packets of 4096 bytes", Needs: needsDevice, Run: railMTU},
	{ID: RateExpected, Title: "every rail has the expected rate", Needs: needsDevice, Run: rateExpected},
	{ID: rail.RateUniform, Title: "all rails have the rate of the fastest", Needs: []check.ID{RateExpected}},
	{ID: PCIeLink, Title: pcieLinkTitle, Needs: needsDevice, ExplainedBy: []check.ID{PCIeLink}, Run: railLinks},
	{ID: rail.PortNotShared, Title: "every rail has its own physical port", Needs: needsDevice},
	{ID: rail.HardwareRDMA, Title: "the device is RDMA hardware", Needs: needsDevice},
	{
		ID: nccl.GPUDirectPossible, Title: "the node can do GPUDirect RDMA",
		Needs: needsDevice, ExplainedBy: []check.ID{PeermemRegistered}, Run: gpuDirect,
	},
	{ID: nccl.TopologyFile, Title: "NCCL can read its topology file", Needs: needsDevice},
	{
		ID:    nccl.GPUDirectDistance,
		Title: "every GPU has a rail near enough for GPUDirect RDMA",
		Needs: []check.ID{ // without one of its rails a GPU only seems far from all
			nccl.GPUDirectPossible, nccl.TopologyFile, VFGUID, PhysicalUp, rail.UverbsOpenable, rail.PortActive,
			rail.GIDUsable,
		},
		Run: gpuDistance,
	},
	{
		ID: nccl.IOMMUPassthrough, Title: passthroughTitle,
		Needs: needsDevice, ExplainedBy: []check.ID{nccl.IOMMUPassthrough, IOMMUOptions}, Run: railsPassthrough,
	},
	{
		ID: SilentFallback, Title: "NCCL stops instead of falling back to TCP",
		Needs: []check.ID{rail.DeviceAllocated, nccl.NetworkChoice}, Run: silentFallback,
	},
}

// Titles that the pod and the node share.
const (
	portActiveTitle  = "the port is ACTIVE"
	physicalUpTitle  = "every physical function with virtual functions is up"
	pcieLinkTitle    = "the PCIe link is fast enough for the port"
	passthroughTitle = "the IOMMU group of the HCA is of type identity"
)
