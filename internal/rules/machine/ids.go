package machine

import "github.com/railhead/railhead/internal/check"

// A pod's needs apart from its rails and NCCL's environment.
const (
	MemlockLimit     check.ID = "memlock-limit"
	IPCLockEffective check.ID = "ipc-lock-effective"
	VerbsLibrary     check.ID = "verbs-library"
	RailMTU          check.ID = "rail-mtu"
	RailARP          check.ID = "rail-arp"
	RailsRoutable    check.ID = "rails-routable"
	RateExpected     check.ID = "rate-expected"
	PCIeLink         check.ID = "pcie-link"
	FusionAvoided    check.ID = "vf-fusion"
	SilentFallback   check.ID = "silent-fallback"
	DisableEffective check.ID = "ib-disable"
	VFGUID           check.ID = "vf-guid"
)

// The needs of a node that provides RDMA devices to pods.
const (
	IOMMUPresent      check.ID = "iommu-present"
	IOMMUOptions      check.ID = "iommu-options"
	PCIConfig         check.ID = "pci-config"
	ACSRedirect       check.ID = "acs-redirect"
	ReadRequest       check.ID = "read-request"
	PeermemRegistered check.ID = "peermem-registered"
	ModuleConflict    check.ID = "module-conflict"
	PhysicalUp        check.ID = "pf-up"
	VFCount           check.ID = "vf-count"
	VFSettings        check.ID = "vf-settings"
	VFTrust           check.ID = "vf-trust"
	FirmwareUniform   check.ID = "firmware-uniform"
	RuntimeMemlock    check.ID = "runtime-memlock"
)

// Facts that two readings of a machine show.
const (
	LinkStable    check.ID = "link-stable"
	SymbolErrors  check.ID = "symbol-errors"
	PacketsInTurn check.ID = "packets-in-turn"
	Congestion    check.ID = "congestion"
)
