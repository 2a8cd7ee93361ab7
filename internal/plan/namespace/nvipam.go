package namespace

import (
	"cmp"
	"fmt"
	"math/bits"
	"net/netip"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/workload"
)

// ipPoolOf returns the pool of nv-ipam that assigns the addresses of a subnet, and the change that writes it. Networks
// with the same subnet share a pool: another one would assign its addresses again.
//
// Each node that the pool selects gets a block, in the order of their names, until no block is left (nvidia-k8s-ipam
// 0.4.0 pkg/ipam-controller): nodes without the resource would take the blocks of those that have it. Blocks of another
// size would take their addresses from running pods, so an existing pool keeps its own.
func ipPoolOf(d *draft, name string, subnet netip.Prefix, resource string) (pool string, change []plan.Change) {
	selector, nodes := poolNodes(d.s, resource)
	size := int64(1) << blockBits(subnet, nodes)
	for _, o := range d.s.Objects {
		text, _ := workload.Field(o.Fields, "spec.subnet").(string)
		other, err := netip.ParsePrefix(text)
		switch {
		case o.Kind != "IPPool" || err != nil || !other.Overlaps(subnet):
		case o.Name == name:
			kept, err := strconv.ParseInt(fmt.Sprint(workload.Field(o.Fields, "spec.perNodeBlockSize")), 10, 64)
			if err == nil && kept > 0 && other == subnet {
				size = kept
			}
		case other.Masked() == subnet.Masked():
			return o.Name, nil
		default:
			d.overlaps(name, subnet, "IPPool "+o.Name, other)
		}
	}
	if n := blocks(subnet, size); n < int64(nodes) {
		d.plan.Note("The IPPool %s has %d blocks of %d addresses for %d nodes: pods on the others get no address. "+
			"Give a larger subnet with --rail-subnets.", name, n, size, nodes)
	}
	meta := d.meta(name)
	meta.Namespace = nvidiaNamespace
	spec := map[string]any{"subnet": subnet.String(), "perNodeBlockSize": size}
	if selector != nil {
		spec["nodeSelector"] = selector
	}
	return name, plan.ApplyIfChanged(d.s, unstructured.Unstructured{Object: map[string]any{
		"apiVersion": cluster.NvIPAMGroup + "/v1alpha1",
		"kind":       "IPPool",
		"metadata":   plan.Fields(&meta),
		"spec":       spec,
	}}, "addresses of "+name+" for the nodes with its resource")
}

// blockBits returns the bits of a block, with room for more nodes.
func blockBits(subnet netip.Prefix, nodes int) int {
	const most = 6
	free := subnet.Addr().BitLen() - subnet.Bits() - bits.Len(uint(nodes))
	return min(max(free, 0), most)
}

// blocks returns how many blocks a subnet has. The first begins at its first address for hosts, and none has the
// broadcast address: a /24 has 3 of 64, 7 of 32 and 15 of 16 addresses.
func blocks(subnet netip.Prefix, size int64) int64 {
	hosts := int64(1)<<min(subnet.Addr().BitLen()-subnet.Bits(), 32) - 1
	if subnet.Addr().Is4() {
		hosts--
	}
	return hosts / size
}

// nicLabel is on nodes with a card of NVIDIA, by Node Feature Discovery, which NVIDIA's network operator needs.
const nicLabel = "feature.node.kubernetes.io/pci-15b3.present"

// poolNodes returns the selector of the nodes that offer a resource, and their number, at least 1: by the label of
// their cards if all have it, otherwise by their names. Without such a node there is no selector, and all nodes count.
func poolNodes(s cluster.State, resource string) (selector map[string]any, nodes int) {
	offer := func(n cluster.Node) bool { return n.Allocatable[resource] > 0 }
	labelled := func(n cluster.Node) bool { return n.Labels[nicLabel] == "true" }
	offering := slices.DeleteFunc(slices.Clone(s.Nodes), func(n cluster.Node) bool { return !offer(n) })
	const hostname = "kubernetes.io/hostname"
	var names []any
	for _, n := range offering {
		names = append(names, cmp.Or(n.Labels[hostname], n.Name))
	}
	terms := func(label string, values []any) map[string]any {
		return map[string]any{"nodeSelectorTerms": []any{map[string]any{
			"matchExpressions": []any{map[string]any{"key": label, "operator": "In", "values": values}},
		}}}
	}
	switch {
	case len(offering) == 0:
		return nil, max(len(s.Nodes), 1)
	case slices.ContainsFunc(offering, func(n cluster.Node) bool { return !labelled(n) }):
		return terms(hostname, names), len(offering)
	}
	with := slices.DeleteFunc(slices.Clone(s.Nodes), func(n cluster.Node) bool { return !labelled(n) })
	return terms(nicLabel, []any{"true"}), len(with)
}
