package setup

import "github.com/railhead/railhead/internal/check"

// Checks of the cluster before its nodes are set up, and of the nodes afterwards.
const (
	NodeSettings    check.ID = "node-settings"
	PoolExists      check.ID = "pool-exists"
	PoolNodes       check.ID = "pool-nodes"
	PoolRole        check.ID = "pool-role"
	KernelArguments check.ID = "kernel-arguments"
	CRIODropIn      check.ID = "crio-drop-in"
	NodeMemlock     check.ID = "node-memlock"
	SetupSCC        check.ID = "setup-scc"
	SCCUnused       check.ID = "scc-unused"
	SRIOVOperator   check.ID = "sriov-operator"
	SRIOVNICs       check.ID = "sriov-nics"
)
