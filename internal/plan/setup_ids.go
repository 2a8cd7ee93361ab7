package plan

import "github.com/railhead/railhead/internal/check"

// What a cluster must be before its nodes are set up, and what they must be afterwards.
const (
	NodeSettings    check.ID = "node-settings"
	NameFree        check.ID = "name-free"
	PoolExists      check.ID = "pool-exists"
	PoolHealthy     check.ID = "pool-healthy"
	PoolNotPaused   check.ID = "pool-not-paused"
	PoolIdle        check.ID = "pool-idle"
	PoolNodes       check.ID = "pool-nodes"
	PoolRole        check.ID = "pool-role"
	KernelArguments check.ID = "kernel-arguments"
	CRIODropIn      check.ID = "crio-drop-in"
	NodeMemlock     check.ID = "node-memlock"
	SetupSCC        check.ID = "setup-scc"
	SCCUnused       check.ID = "scc-unused"
	SRIOVOperator   check.ID = "sriov-operator"
	SRIOVNICs       check.ID = "sriov-nics"
	RolloutProgress check.ID = "rollout-progress"
)
