package bench

import "slices"

// leafLabels are node labels whose value is shared by the nodes of one leaf switch, or of one set of leaves with one
// per rail.
var leafLabels = [...]string{
	// Topograph from 1.0 on, and before (docs.nvidia.com/topograph, node labels and annotations).
	"fabric.topograph.run/tier-0",
	"network.topology.nvidia.com/leaf",
	// GKE: the smallest group of hosts (cloud.google.com/ai-hypercomputer, topology-aware scheduling).
	"cloud.google.com/gce-topology-subblock",
	// OKE: the first tier of switches (oracle-quickstart/oci-hpc-oke, network locality).
	"oci.oraclecloud.com/rdma.local_block_id",
}

// LeafOf returns the leaf switch in the labels of a node: the value of the named label, or else of a known one. It is
// "" if the node has none.
func LeafOf(labels map[string]string, named string) string {
	if named != "" {
		return labels[named]
	}
	for _, label := range leafLabels {
		if leaf := labels[label]; leaf != "" {
			return leaf
		}
	}
	return ""
}

// leaves returns the leaf of each end of a matrix, nil if no pod has one.
func (f Fleet) leaves() []string {
	if !slices.ContainsFunc(f.Pods, func(p Pod) bool { return p.Leaf != "" }) {
		return nil
	}
	var all []string
	for _, p := range f.Pods {
		all = append(all, slices.Repeat([]string{p.Leaf}, f.Rails())...)
	}
	return all
}
