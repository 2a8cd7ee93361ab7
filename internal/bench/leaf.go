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

// LeafLabel returns the label of a node that names its leaf switch: the named one, or else a known one that it has.
func LeafLabel(labels map[string]string, named string) string {
	for _, label := range leafLabels {
		if named == "" && labels[label] != "" {
			return label
		}
	}
	return named
}

// LeafOf returns the leaf switch of a node; "" if it has no label that names it.
func LeafOf(labels map[string]string, named string) string { return labels[LeafLabel(labels, named)] }

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
