package fault

import (
	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/nccl"
	"github.com/railhead/railhead/internal/rail"
	"github.com/railhead/railhead/internal/rules/benchrules"
	"github.com/railhead/railhead/internal/rules/clusterrules"
	"github.com/railhead/railhead/internal/rules/fleet"
	"github.com/railhead/railhead/internal/rules/machine"
	"github.com/railhead/railhead/internal/rules/pods"
)

// Doctor says which check names a fault, and where.
type Doctor struct {
	Check check.ID // that is named first
	View  View
}

// View is from where a fault is seen.
type View string

// The views, each with the command that has it.
const (
	InPod    View = "in the pod"           // railhead-pod doctor; railhead doctor JOB
	OnNode   View = "on the node"          // railhead-pod doctor --root /host; railhead doctor node/NODE
	Together View = "pods compared"        // railhead doctor JOB
	Counted  View = "on the node, watched" // railhead-pod doctor --root /host --watch, while RDMA moves bytes
	Objects  View = "in the cluster"       // railhead doctor JOB; railhead doctor --cluster
	Measured View = "measured"             // railhead doctor JOB --measure
)

// doctors has the check for each fault, by its name. Packets dropped on their way leave no trace but in the counters of
// those who wait for the answers; a delay leaves none, and has to be measured.
func doctors() map[string]Doctor {
	return map[string]Doctor{
		"vf-down":           {rail.PortActive, InPod},
		"pf-down":           {machine.PhysicalUp, OnNode},
		"port-down":         {machine.PhysicalUp, OnNode},
		"wrong-mac":         {machine.VFSettings, OnNode},
		"verbs-missing":     {rail.UverbsOpenable, InPod},
		"mtu":               {machine.RailMTU, InPod},
		"no-address":        {rail.GIDUsable, InPod},
		"link-local-only":   {rail.GIDUsable, InPod},
		"duplicate-address": {fleet.DuplicateAddress, Together},
		"arp-flux":          {machine.RailARP, InPod},
		"rail-isolation":    {machine.RailsRoutable, InPod},
		"firewall":          {machine.PacketsInTurn, Counted},
		"packet-loss":       {machine.PacketsInTurn, Counted},
		"slow-rail":         {benchrules.Fabric, Measured},

		"iommu-translated":     {nccl.IOMMUPassthrough, OnNode},
		"iommu-translated-amd": {nccl.IOMMUPassthrough, OnNode},
		"iommu-absent":         {machine.IOMMUPresent, OnNode},
		"rdma-exclusive":       {rail.RDMANamespace, InPod},

		"device-plugin-dead": {clusterrules.ResourceZero, Objects},
		"memlock":            {machine.MemlockLimit, InPod},
		"multus-timeout":     {pods.NodeOverload, Objects},

		"verbs-not-permitted": {rail.UverbsOpenable, InPod},
		"verbs-elsewhere":     {rail.DeviceAllocated, InPod},
		"ipc-lock-inert":      {machine.IPCLockEffective, InPod},
		"privileged":          {rail.ForeignHCAHidden, InPod},
		"shm-small":           {nccl.SharedMemory, InPod},
		"gid-index":           {nccl.GIDIndex, InPod},
		"resource-unknown":    {clusterrules.NetworkResource, Objects},
		"resource-exhausted":  {pods.InsufficientResource, Objects},
		"addresses-exhausted": {pods.NoIP, Objects},
	}
}
