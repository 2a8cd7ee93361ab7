package cli

import (
	"context"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/kube"
)

// leaves are the leaf switches of nodes, by the nodes' names, or why none is known: then a slow one is not told from its NICs.
type leaves struct {
	of      map[string]string
	unknown string
}

// readLeaves reads the labels of all nodes, where a matrix is measured: most who may bench may not list nodes.
func (a *app) readLeaves(ctx context.Context, client *kube.Client, targets []target, f benchFlags) (leaves, error) {
	if !f.matrix {
		return leaves{}, nil
	}
	s, err := client.Read(ctx, kube.Want{Kinds: []cluster.Kind{cluster.Nodes}})
	if err != nil {
		return leaves{}, faultOrInterrupt(ctx, err)
	}
	return leavesOf(s, targets, f.leafLabel), nil
}

func leavesOf(s cluster.State, targets []target, label string) leaves {
	const fewest = 3 // pods: two of one leaf, and one of another
	if p := s.Problem(cluster.Nodes); p != nil && len(targets) >= fewest {
		return leaves{unknown: "to blame leaf switches: the nodes' labels cannot be read: " + p.Err}
	}
	all := map[string]string{}
	for _, n := range s.Nodes {
		all[n.Name] = bench.LeafOf(n.Labels, label)
	}
	known := map[string]string{}
	for _, t := range targets {
		if leaf := all[t.pod.Node]; leaf != "" {
			known[t.pod.Node] = leaf
		}
	}
	if len(known) == 0 && len(targets) >= fewest {
		return leaves{unknown: "to blame leaf switches: no label of the pods' nodes names them; --leaf-label says which one does"}
	}
	return leaves{of: known}
}

// knowLeaves gives the pods the leaf switches of their nodes, or says why they have none.
func (m *measuring) knowLeaves() {
	for i, p := range m.fleet.Pods {
		m.fleet.Pods[i].Leaf = m.leaves.of[p.Node]
	}
	m.result.Pods = m.fleet.Pods
	if m.leaves.unknown != "" {
		m.skip(m.leaves.unknown)
	}
}
