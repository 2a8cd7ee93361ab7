package clusterrules

import (
	"slices"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
)

// Inventory has the nodes, NICs, networks and rights that a cluster offers to RDMA jobs, and what is missing.
type Inventory struct {
	Server    cluster.Server            `json:"server"`
	Nodes     []InventoryNode           `json:"nodes"`
	RDMA      []cluster.Offer           `json:"rdma"`
	DRA       []cluster.DRAOffer        `json:"dra,omitempty"`
	Rails     map[string][]cluster.Rail `json:"rails,omitempty"` // by namespace
	Pools     []cluster.Pool            `json:"pools,omitempty"`
	Policies  []cluster.SriovPolicy     `json:"sriovPolicies,omitempty"`
	SriovNode []cluster.SriovNode       `json:"sriovNodes,omitempty"`
	SCCs      []InventorySCC            `json:"sccs,omitempty"`
	Findings  []check.Finding           `json:"findings,omitempty"`
}

// InventoryNode is a node with its GPUs and RDMA resources.
type InventoryNode struct {
	Name        string           `json:"name"`
	Roles       []string         `json:"roles,omitempty"`
	State       string           `json:"state"`
	GPUResource string           `json:"gpuResource,omitempty"`
	GPUs        int64            `json:"gpus,omitempty"`
	GPUsFree    *int64           `json:"gpusFree,omitempty"` // absent if the pods are unknown
	GPUType     string           `json:"gpuType,omitempty"`
	RDMA        map[string]int64 `json:"rdma,omitempty"`
	Arch        string           `json:"arch"`
	Kernel      string           `json:"kernel,omitempty"`
	Runtime     string           `json:"runtime,omitempty"`
}

// InventorySCC is a security context constraint that RDMA pods may need, and who may use it.
type InventorySCC struct {
	cluster.SCC
	Grants []cluster.SCCGrant `json:"grants,omitempty"`
}

// InventoryOf returns the inventory of a cluster.
func InventoryOf(s cluster.State) Inventory {
	inv := Inventory{
		Server:    s.Server,
		Nodes:     []InventoryNode{},
		RDMA:      s.RDMAOffers(),
		DRA:       s.DRAOffers(),
		Rails:     map[string][]cluster.Rail{},
		Pools:     s.Pools,
		Policies:  s.SriovPolicies,
		SriovNode: s.SriovNodes,
		Findings:  Missing(s),
	}
	free, offers := s.Free(), inv.RDMA
	for _, r := range s.ClaimRails() {
		offers = append(offers, cluster.Offer{Resource: r.Driver + "/" + r.Network, PerNode: r.PerNode})
	}
	for _, n := range s.Nodes {
		inv.Nodes = append(inv.Nodes, inventoryNodeOf(s, n, offers, free[n.Name]))
	}
	for _, n := range s.Networks {
		if _, seen := inv.Rails[n.Namespace]; !seen {
			inv.Rails[n.Namespace] = s.Rails(n.Namespace)
		}
	}
	for _, c := range s.SCCs {
		if c.AllowsCapability("IPC_LOCK") || c.Name == cluster.RailheadSCC {
			others := func(g cluster.SCCGrant) bool { return g.SCC != c.Name && g.SCC != "*" }
			inv.SCCs = append(inv.SCCs, InventorySCC{c, slices.DeleteFunc(slices.Clone(s.SCCGrants), others)})
		}
	}
	return inv
}

func inventoryNodeOf(s cluster.State, n cluster.Node, offers []cluster.Offer, free cluster.Resources) InventoryNode {
	i := InventoryNode{
		Name:    n.Name,
		Roles:   n.Roles(),
		State:   "Ready",
		GPUType: n.GPUType(),
		RDMA:    map[string]int64{},
		Arch:    n.Arch,
		Kernel:  n.Kernel,
		Runtime: n.Runtime,
	}
	if why, ok := n.Schedulable(); !ok {
		i.State = why
	}
	i.GPUResource, i.GPUs = n.GPUs()
	for _, count := range s.GPUsByRoot(n.Name) {
		i.GPUResource, i.GPUs = cluster.DRAGPU, i.GPUs+int64(count)
	}
	if i.GPUResource != "" && i.GPUResource != cluster.DRAGPU && s.Knows(cluster.Pods) {
		left := free[i.GPUResource]
		i.GPUsFree = &left
	}
	for _, o := range offers {
		if count := o.PerNode[n.Name]; count > 0 {
			i.RDMA[o.Resource] = count
		}
	}
	return i
}
