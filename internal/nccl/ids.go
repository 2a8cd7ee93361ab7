package nccl

import "github.com/railhead/railhead/internal/check"

// The checks of an environment.
const (
	HCAFilter         check.ID = "hca-filter"
	GIDIndex          check.ID = "gid-index"
	SocketInterface   check.ID = "socket-interface"
	NetworkChoice     check.ID = "network-choice"
	UserSetting       check.ID = "user-setting"
	LibraryDevices    check.ID = "library-devices"
	GDRLevelKnown     check.ID = "gdr-level"
	GPUDirectPossible check.ID = "gpudirect-possible"
	GPUDirectDistance check.ID = "gpudirect-distance"
	TopologyFile      check.ID = "topology-file"
	IOMMUPassthrough  check.ID = "iommu-passthrough"
	SharedMemory      check.ID = "shm-size"
)
