package clusterrules

import (
	"slices"

	"github.com/railhead/railhead/internal/cluster"
)

// concerning drops attachments of other namespaces that no pod in question names and whose resource no node offers.
func concerning(s cluster.State, o Options) cluster.State {
	if o.Whole || o.Namespace == "" {
		return s
	}
	named := map[cluster.NetworkName]bool{}
	for _, p := range detailed(s) {
		for _, name := range p.NetworkNames() {
			named[name] = true
		}
	}
	s.Networks = slices.DeleteFunc(slices.Clone(s.Networks), func(n cluster.Network) bool {
		offers := func(node cluster.Node) bool { return node.Allocatable[n.Resource] > 0 }
		return n.Namespace != o.Namespace && !named[cluster.NetworkName{Namespace: n.Namespace, Name: n.Name}] &&
			!slices.ContainsFunc(s.Nodes, offers)
	})
	return s
}
