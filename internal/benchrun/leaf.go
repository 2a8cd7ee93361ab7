package benchrun

import (
	"context"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/kube"
	"github.com/railhead/railhead/internal/launch"
)

// Leaves are the leaf switches of nodes, by the names of the nodes.
type Leaves struct {
	Of      map[string]string
	Unknown string // why none is known: a slow leaf then shows as slow NICs
}

// Reader reads objects of a cluster; *kube.Client is one.
type Reader interface {
	Read(ctx context.Context, w kube.Want) (cluster.State, error)
}

// ReadLeaves reads the leaf switches of the pods' nodes from a label, or if it is "", from the known labels.
func ReadLeaves(ctx context.Context, r Reader, targets []launch.Target, label string) (Leaves, error) {
	s, err := r.Read(ctx, kube.Want{Kinds: []cluster.Kind{cluster.Nodes}})
	if err != nil {
		return Leaves{}, err
	}
	return leavesOf(s, targets, label), nil
}

func leavesOf(s cluster.State, targets []launch.Target, label string) Leaves {
	const fewest = 3 // pods: two of one leaf, and one of another
	if p := s.Problem(cluster.Nodes); p != nil && len(targets) >= fewest {
		return Leaves{Unknown: "to blame leaf switches: the labels of nodes cannot be read: " + p.Err}
	}
	all := map[string]string{}
	for _, n := range s.Nodes {
		all[n.Name] = bench.LeafOf(n.Labels, label)
	}
	known := map[string]string{}
	for _, t := range targets {
		if leaf := all[t.Pod.Node]; leaf != "" {
			known[t.Pod.Node] = leaf
		}
	}
	if len(known) == 0 && len(targets) >= fewest {
		return Leaves{Unknown: "to blame leaf switches: no label of the nodes names them; use --leaf-label"}
	}
	return Leaves{Of: known}
}

// placeLeaves adds the leaf switches to the pods.
func (b *Bench) placeLeaves() {
	for i, p := range b.fleet.Pods {
		b.fleet.Pods[i].Leaf = b.Leaves.Of[p.Node]
	}
	b.result.Pods = b.fleet.Pods
	if b.Leaves.Unknown != "" {
		b.skip(b.Leaves.Unknown)
	}
}
