package cluster

import (
	"slices"

	"github.com/railhead/railhead/internal/cluster"
)

// concerning drops attachments of other namespaces that no pod in question names and whose resource no node offers.
func concerning(s cluster.State, o Options) cluster.State {
	if o.Whole || o.Namespace == "" {
		return s
	}
	named := map[[2]string]bool{}
	for _, p := range detailed(s) {
		for _, name := range attached(p) {
			named[name] = true
		}
	}
	s.Networks = slices.DeleteFunc(slices.Clone(s.Networks), func(n cluster.Network) bool {
		offers := func(node cluster.Node) bool { return node.Allocatable[n.Resource] > 0 }
		return n.Namespace != o.Namespace && !named[[2]string{n.Namespace, n.Name}] &&
			!slices.ContainsFunc(s.Nodes, offers)
	})
	return s
}
