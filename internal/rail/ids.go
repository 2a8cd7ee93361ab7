package rail

import "github.com/railhead/railhead/internal/check"

// Conditions for a device to be a rail, and checks of rails.
const (
	DeviceAllocated      check.ID = "device-allocated"
	AllocationReadable   check.ID = "allocation-readable"
	AllocationConsistent check.ID = "allocation-consistent"
	UverbsOpenable       check.ID = "uverbs-openable"
	RDMANamespace        check.ID = "rdma-namespace"
	TransportSupported   check.ID = "transport-supported"
	PortActive           check.ID = "port-active"
	GIDUsable            check.ID = "gid-usable"
	LinkLayerUniform     check.ID = "link-layer-uniform"
	RateUniform          check.ID = "rate-uniform"
	CarrierPresent       check.ID = "carrier-present"
	PortNotShared        check.ID = "port-not-shared"
	HardwareRDMA         check.ID = "hardware-rdma"
	ForeignHCAHidden     check.ID = "foreign-hca-hidden"
)
