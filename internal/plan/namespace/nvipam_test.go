package namespace

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan/plantest"
)

// The numbers are those of the allocator of nvidia-k8s-ipam 0.4.0.
func TestBlocks(t *testing.T) {
	for subnet, sizes := range map[string]map[int64]int64{
		"10.1.0.0/24": {64: 3, 32: 7, 16: 15, 1: 254}, "10.1.0.0/30": {1: 2}, "fd00::/120": {64: 3},
	} {
		for size, want := range sizes {
			if got := blocks(netip.MustParsePrefix(subnet), size); got != want {
				t.Errorf("%s, blocks of %d: %d, want %d", subnet, size, got, want)
			}
		}
	}
	for nodes := 1; nodes < 60; nodes++ { // each has a block, as far as the subnet has addresses
		subnet := netip.MustParsePrefix("10.1.0.0/24")
		if size := int64(1) << blockBits(subnet, nodes); blocks(subnet, size) < int64(nodes) {
			t.Errorf("%d nodes: blocks of %d", nodes, size)
		}
	}
}

// A pool selects the nodes that offer the resource, so that the others take none of its blocks.
func TestPoolNodes(t *testing.T) {
	const resource = "nvidia.com/rail0"
	node := func(name string, devices int64, labels ...string) cluster.Node {
		n := cluster.Node{Name: name, Allocatable: cluster.Resources{resource: devices}, Labels: map[string]string{}}
		for _, l := range labels {
			key, value, _ := strings.Cut(l, "=")
			n.Labels[key] = value
		}
		return n
	}
	terms := func(key string, values ...any) map[string]any {
		return map[string]any{"nodeSelectorTerms": []any{map[string]any{"matchExpressions": []any{
			map[string]any{"key": key, "operator": "In", "values": values},
		}}}}
	}
	const card = nicLabel + "=true"
	for name, c := range map[string]struct {
		nodes []cluster.Node
		want  map[string]any
		count int
	}{
		"the label of their cards": {
			[]cluster.Node{node("control", 0), node("a", 8, card), node("b", 8, card), node("spare", 0, card)},
			terms(nicLabel, "true"), 3,
		},
		"a node without the label": {
			[]cluster.Node{node("control", 0), node("a", 8, card), node("b", 8, "kubernetes.io/hostname=b.site")},
			terms("kubernetes.io/hostname", "a", "b.site"), 2,
		},
		"no node offers it yet": {[]cluster.Node{node("control", 0), node("a", 0)}, nil, 2},
		"no node":               {nil, nil, 1},
	} {
		selector, count := poolNodes(cluster.State{Nodes: c.nodes}, resource)
		if diff := cmp.Diff(c.want, selector); diff != "" || count != c.count {
			t.Errorf("%s: %d nodes, want %d (-want +got):\n%s", name, count, c.count, diff)
		}
	}
}

// Blocks of another size would take their addresses from running pods: with more nodes the pool keeps its own, and the
// plan says how many nodes have no block.
func TestPoolKeepsItsBlocks(t *testing.T) {
	s := nvidia()
	s.Server.Groups = append(s.Server.Groups, cluster.NvIPAMGroup)
	o := Options{
		Namespace: "train", Networks: []string{"rail0"},
		RailSubnets: []netip.Prefix{netip.MustParsePrefix("10.9.0.0/24")},
	}
	p, _ := Setup(s, o)
	s = plantest.With(s, plantest.Live(p))
	for range 3 {
		offers := func(n cluster.Node) bool { return n.Allocatable["nvidia.com/rail0"] > 0 }
		more := s.Nodes[slices.IndexFunc(s.Nodes, offers)]
		more.Name, more.Labels = more.Name+"x", nil
		s.Nodes = append(s.Nodes, more)
	}
	p, _ = Setup(s, o)
	found := false
	for _, c := range p.Changes() {
		if c.Object.GetKind() == "IPPool" {
			size, _, _ := unstructured.NestedInt64(c.Object.Object, "spec", "perNodeBlockSize")
			found = size == 64
		}
	}
	const note = "has 3 blocks of 64 addresses for 5 nodes"
	if !found || !slices.ContainsFunc(p.Notes, func(n string) bool { return strings.Contains(n, note) }) {
		t.Errorf("a pool of blocks of 64: %t; notes %q", found, p.Notes)
	}
}
