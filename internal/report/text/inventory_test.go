package text

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/rules/clusterrules"
)

// TestInventoryClaims: rails and GPUs that only DRA offers are in the table of the nodes.
func TestInventoryClaims(t *testing.T) {
	inv := inventory{clusterrules.InventoryOf(cluster.State{
		Read:  []cluster.Kind{cluster.Nodes, cluster.Pods, cluster.DRADevices},
		Nodes: []cluster.Node{{Name: "a", Ready: true}, {Name: "b", Ready: true}},
		DRADevices: []cluster.DRADevice{
			{Driver: cluster.DRANet, Node: "a", RDMA: true, Attribute: map[string]string{"dra.net/ifName": "eth1"}},
			{Driver: cluster.DRANet, Node: "a", RDMA: true, Attribute: map[string]string{"dra.net/ifName": "eth2"}},
			{Driver: cluster.DRAGPU, Node: "a", GPU: true},
			{Driver: cluster.DRAGPU, Node: "a", GPU: true},
		},
	})}
	want := [][]string{{"a", "", "Ready", "2 gpu.nvidia.com", "", "", "dra.net/ eth1 eth2"}}
	if diff := cmp.Diff(want, inv.nodes(false).Rows); diff != "" || len(inv.Findings) > 0 {
		t.Errorf("(-want +got):\n%s%v", diff, inv.Findings)
	}
}
