package bench

import "slices"

// leafLabels are labels of nodes whose value the nodes of one leaf switch share, or of one set of leaves where each rail has its
// own, by who writes them.
var leafLabels = [...]string{
	"fabric.topograph.run/tier-0",             // Topograph from 1.0 on (docs.nvidia.com/topograph, node labels and annotations)
	"network.topology.nvidia.com/leaf",        // Topograph before
	"cloud.google.com/gce-topology-subblock",  // GKE: the smallest group of hosts (cloud.google.com/ai-hypercomputer, topology-aware scheduling)
	"oci.oraclecloud.com/rdma.local_block_id", // OKE: the first tier of switches (oracle-quickstart/oci-hpc-oke, network locality)
}

// LeafOf is the leaf switch of a node by its labels: by the one that is named, or by those that are known. "" where it has none.
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

// leaves are those of all ends of a matrix; none where no pod has one.
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
