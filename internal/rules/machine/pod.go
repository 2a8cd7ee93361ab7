package machine

import (
	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/nccl"
	"github.com/railhead/railhead/internal/rail"
)

// Checks of package rules/cluster, which explain why a pod was given no device.
const (
	podResources  = "pod-resources"
	rdmaRequested = "rdma-requested"
)

// podChecks need only the pod's view. Equally severe findings are listed in this order. Those without
// a function pass on what packages rail and nccl found.
var podChecks = []check.Check[*subject]{
	{ID: rail.DeviceAllocated, Title: "the container was given an RDMA device, and only its own is used", ExplainedBy: []check.ID{podResources, rdmaRequested}, Run: allocated},
	{ID: PhysicalUp, Title: "the physical functions are up", Needs: []check.ID{rail.DeviceAllocated}, Run: physicalUp},
	{ID: VFGUID, Title: "every InfiniBand virtual function has a GUID", Needs: []check.ID{rail.DeviceAllocated}, Run: vfGUID},
	{ID: rail.RDMANamespace, Title: "the RDMA device is in the pod's network namespace", Needs: []check.ID{rail.DeviceAllocated}},
	{ID: rail.AllocationReadable, Title: "every variable of the device plugin can be read"},
	{ID: rail.AllocationConsistent, Title: "the device plugin, DRA, multus and sysfs agree", Needs: []check.ID{rail.DeviceAllocated}, Run: allocations},
	{ID: rail.UverbsOpenable, Title: "the verbs node of the device is in the container and opens", Needs: []check.ID{rail.DeviceAllocated}, ExplainedBy: []check.ID{podResources, rdmaRequested}},
	{ID: rail.TransportSupported, Title: "the device speaks InfiniBand or RoCE", Needs: []check.ID{rail.DeviceAllocated}},
	{ID: rail.PortActive, Title: "the port is ACTIVE", Needs: []check.ID{rail.DeviceAllocated}, ExplainedBy: []check.ID{PhysicalUp}, Run: portActive},
	{ID: rail.GIDUsable, Title: "a RoCE port has a GID with an address of this network namespace", Needs: []check.ID{rail.DeviceAllocated}},
	{ID: rail.LinkLayerUniform, Title: "all rails have one link layer", Needs: []check.ID{rail.DeviceAllocated}},
	{ID: rail.CarrierPresent, Title: "the rail's interface has carrier", Needs: []check.ID{rail.DeviceAllocated}, ExplainedBy: []check.ID{PhysicalUp}},
	{ID: rail.ForeignHCAHidden, Title: "no device of another pod can be opened here", Needs: []check.ID{rail.DeviceAllocated}, Run: foreignHCAs},
	{ID: MemlockLimit, Title: "the process can lock all the memory it registers", Needs: []check.ID{IPCLockEffective}, ExplainedBy: []check.ID{RuntimeMemlock}, Run: memlockLimit},
	{ID: IPCLockEffective, Title: "CAP_IPC_LOCK does something where it was given", Run: ipcLock},
	{ID: VerbsLibrary, Title: "libibverbs is in the image, with the provider of the rails' driver", Run: verbsLibrary},
	{ID: nccl.SharedMemory, Title: "/dev/shm has room for NCCL and the data loaders", Run: sharedMemory},
	{ID: DisableEffective, Title: "NCCL_IB_DISABLE stops all that it is meant to stop", Run: disableEffective},
	{ID: nccl.NetworkChoice, Title: "nothing in the environment forces TCP", Needs: []check.ID{rail.DeviceAllocated, DisableEffective}},
	{ID: nccl.HCAFilter, Title: "NCCL_IB_HCA selects the pod's rails and nothing else", Needs: []check.ID{rail.DeviceAllocated}},
	{ID: nccl.GIDIndex, Title: "the GID index is right on every rail, for the NCCL in the image", Needs: []check.ID{rail.DeviceAllocated}, Run: gidIndex},
	{ID: FusionAvoided, Title: "NCCL joins no rails of different cards", Needs: []check.ID{rail.DeviceAllocated}, Run: fusion},
	{ID: nccl.SocketInterface, Title: "bootstrap runs on one interface that every rank reaches", Needs: []check.ID{rail.DeviceAllocated}},
	{ID: nccl.UserSetting, Title: "what the user set does what this machine needs", Needs: []check.ID{rail.DeviceAllocated}},
	{ID: nccl.LibraryDevices, Title: "UCX and NVSHMEM name devices that are here", Needs: []check.ID{rail.DeviceAllocated}},
	{ID: nccl.GDRLevelKnown, Title: "NCCL_NET_GDR_LEVEL is one of NCCL's own words"},
	{ID: RailARP, Title: "rails of one subnet do not answer for each other", Needs: []check.ID{rail.DeviceAllocated}, Run: railARP},
	{ID: RailsRoutable, Title: "rails reach each other's networks where NCCL needs it", Needs: []check.ID{rail.DeviceAllocated}, Run: railsRoutable},
	{ID: RailMTU, Title: "every rail has the MTU that fills RoCE's largest packets", Needs: []check.ID{rail.DeviceAllocated}, Run: railMTU},
	{ID: RateExpected, Title: "every rail has the expected rate", Needs: []check.ID{rail.DeviceAllocated}, Run: rateExpected},
	{ID: rail.RateUniform, Title: "all rails have the rate of the fastest", Needs: []check.ID{RateExpected}},
	{ID: PCIeLink, Title: "the PCIe link carries what the port can", Needs: []check.ID{rail.DeviceAllocated}, ExplainedBy: []check.ID{PCIeLink}, Run: railLinks},
	{ID: rail.PortNotShared, Title: "every rail has a physical port of its own", Needs: []check.ID{rail.DeviceAllocated}},
	{ID: rail.HardwareRDMA, Title: "the device is RDMA hardware", Needs: []check.ID{rail.DeviceAllocated}},
	{ID: nccl.GPUDirectPossible, Title: "the node can do GPUDirect RDMA", Needs: []check.ID{rail.DeviceAllocated}, ExplainedBy: []check.ID{PeermemRegistered}},
	{ID: nccl.GPUDirectDistance, Title: "every GPU has a rail near enough for GPUDirect RDMA", Needs: []check.ID{nccl.GPUDirectPossible, VFGUID, PhysicalUp, rail.UverbsOpenable, rail.PortActive, rail.GIDUsable}}, // a rail that is out is no distance
	{ID: nccl.IOMMUPassthrough, Title: "the IOMMU group of the HCA is of type identity", Needs: []check.ID{rail.DeviceAllocated}, ExplainedBy: []check.ID{nccl.IOMMUPassthrough, IOMMUOptions}},
	{ID: SilentFallback, Title: "NCCL stops rather than fall back to TCP", Needs: []check.ID{rail.DeviceAllocated, nccl.NetworkChoice}, Run: silentFallback},
}
