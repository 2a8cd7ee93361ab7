package plan

// RoleLabel is the label by which pools select MachineConfigs.
const RoleLabel = "machineconfiguration.openshift.io/role"

// MemlockConfig returns the name of the MachineConfig that lifts the locked-memory limit in a pool.
func MemlockConfig(pool string) string { return "99-" + pool + "-rdma-memlock" }
