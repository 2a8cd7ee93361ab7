package setup

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/rules/clusterrules"
)

func TestPoolOf(t *testing.T) {
	s := withGPUPool(openshift())
	s.Pools = append(s.Pools, pool("infra", 0, selectsRoles("worker", "infra")),
		cluster.Pool{
			Name: "empty",
		}, cluster.Pool{
			Name:            "arm",
			NodeExpressions: []cluster.Requirement{{Key: "arch", Operator: "In", Values: []string{"arm64"}}},
		})
	windows := node("x", "", "c", "worker")
	windows.Labels["kubernetes.io/os"] = "windows"
	arm := node("x", "", "c", "worker")
	arm.Labels["arch"] = "arm64"
	tests := map[string]struct {
		node cluster.Node
		want string
	}{
		"worker":                         {node("x", "", "c", "worker"), "worker"},
		"custom pool goes before worker": {node("x", "", "c", "worker", "gpu"), "gpu"},
		"custom role alone":              {node("x", "", "c", "gpu"), "gpu"},
		"master goes before worker":      {node("x", "", "c", "master", "worker"), "master"},
		"master goes before custom":      {node("x", "", "c", "master", "worker", "gpu"), "master"},
		"two custom pools":               {node("x", "", "c", "worker", "gpu", "infra"), ""},
		"no role":                        {node("x", "", "c"), ""},
		"windows":                        {windows, ""},
		"pool with expressions":          {arm, "arm"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p, ok := s.PoolOf(test.node)
			if p.Name != test.want || ok != (test.want != "") {
				t.Errorf("pool %q, %t", p.Name, ok)
			}
		})
	}
}

func TestSelects(t *testing.T) {
	labels := map[string]string{"a": "1"}
	tests := map[string]struct {
		match       map[string]string
		expressions []cluster.Requirement
		want        bool
	}{
		"empty selects nothing": {nil, nil, false},
		"label":                 {map[string]string{"a": "1"}, nil, true},
		"label with empty value is not an absent one": {map[string]string{"b": ""}, nil, false},
		"in":               {nil, []cluster.Requirement{{Key: "a", Operator: "In", Values: []string{"0", "1"}}}, true},
		"not in":           {nil, []cluster.Requirement{{Key: "a", Operator: "NotIn", Values: []string{"1"}}}, false},
		"not in, absent":   {nil, []cluster.Requirement{{Key: "b", Operator: "NotIn", Values: []string{"1"}}}, true},
		"exists":           {nil, []cluster.Requirement{{Key: "a", Operator: "Exists"}}, true},
		"does not exist":   {nil, []cluster.Requirement{{Key: "a", Operator: "DoesNotExist"}}, false},
		"unknown operator": {nil, []cluster.Requirement{{Key: "a", Operator: "Near"}}, false},
		"both must be met": {map[string]string{"a": "1"}, []cluster.Requirement{{Key: "b", Operator: "Exists"}}, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := cluster.Selects(test.match, test.expressions, labels); got != test.want {
				t.Errorf("selects = %t", got)
			}
		})
	}
}

func TestAtOnce(t *testing.T) {
	tests := []struct {
		maxUnavailable string
		nodes, want    int
	}{
		{"", 13, 1}, {"1", 13, 1}, {"3", 13, 3}, {"20", 13, 13}, {"0", 13, 1}, {"10%", 13, 1}, {"16%", 13, 2},
		{"50%", 13, 6},
		{"100%", 13, 13}, {"1%", 13, 1}, {"many", 13, 1}, {"2", 0, 1},
	}
	for _, test := range tests {
		if got := cluster.AtOnce(test.maxUnavailable, test.nodes); got != test.want {
			t.Errorf("cluster.AtOnce(%q, %d) = %d, want %d", test.maxUnavailable, test.nodes, got, test.want)
		}
	}
}

func TestPoolsWithRDMA(t *testing.T) {
	bare := openshift()
	for i := range bare.Nodes {
		delete(bare.Nodes[i].Allocatable, "nvidia.com/gpu")
	}
	tests := map[string]struct {
		change       func(*cluster.State)
		pools, nodes []string
	}{
		"nothing": {func(*cluster.State) {}, nil, nil},
		"GPUs": {
			func(s *cluster.State) { nodeOf(s, "w01").Allocatable["amd.com/gpu"] = 8 },
			[]string{"worker"},
			[]string{"w01"},
		},
		"shared device plugin": {
			func(s *cluster.State) { nodeOf(s, "m1").Allocatable["rdma/hca"] = 63 },
			[]string{"master"},
			[]string{"m1"},
		},
		"resource with none left": {
			func(s *cluster.State) { nodeOf(s, "w01").Allocatable["rdma/hca"] = 0 },
			nil,
			nil,
		},
		"NICs of the SR-IOV operator": {
			func(s *cluster.State) { *s = withNICs(*s) },
			[]string{"worker"},
			[]string{"w12", "w13"},
		},
		"NICs of another kind": {func(s *cluster.State) {
			s.SriovNodes = []cluster.SriovNode{
				{Node: "w01", Interfaces: []cluster.SriovInterface{{Name: "ens3f0", Vendor: "8086"}}},
			}
		}, nil, nil},
		"DRA": {func(s *cluster.State) {
			s.DRADevices = []cluster.DRADevice{{Driver: "dra.net", Node: "w02", RDMA: true}, {Node: "w03"}}
		}, []string{"worker"}, []string{"w02"}},
		"two pools": {func(s *cluster.State) {
			*s = withGPUPool(*s)
			nodeOf(s, "w12").Allocatable["nvidia.com/gpu"], nodeOf(s, "w02").Allocatable["nvidia.com/gpu"] = 8, 8
		}, []string{"gpu", "worker"}, []string{"w02", "w12"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := clone(bare)
			test.change(&s)
			pools, nodes, strays := clusterrules.PoolsWithRDMA(s)
			if diff := cmp.Diff([][]string{test.pools, test.nodes, nil}, [][]string{pools, nodes, strays}); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
