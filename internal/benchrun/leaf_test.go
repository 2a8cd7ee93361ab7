package benchrun

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/launch"
)

func TestLeavesOf(t *testing.T) {
	node := func(name, label, value string) cluster.Node {
		return cluster.Node{Name: name, Labels: map[string]string{label: value}}
	}
	const tier = "fabric.topograph.run/tier-0"
	labelled := []cluster.Node{node("gpu-1", tier, "s1"), node("gpu-2", tier, "s2"), node("gpu-3", "rack", "r3"), node("else", tier, "s9")}
	for name, c := range map[string]struct {
		state cluster.State
		pods  int
		label string
		want  Leaves
	}{
		"labels that are known": {cluster.State{Nodes: labelled}, 3, "", Leaves{Of: map[string]string{"gpu-1": "s1", "gpu-2": "s2"}}},
		"a label that is named": {cluster.State{Nodes: labelled}, 3, "rack", Leaves{Of: map[string]string{"gpu-3": "r3"}}},
		"no label": {cluster.State{Nodes: []cluster.Node{node("gpu-1", "zone", "a")}}, 3, "", Leaves{
			Unknown: "to blame leaf switches: no label of the nodes names them; use --leaf-label",
		}},
		"nodes are hidden": {cluster.State{Problems: []cluster.Problem{{Kind: cluster.Nodes, Err: "forbidden"}}}, 3, "", Leaves{
			Unknown: "to blame leaf switches: the labels of nodes cannot be read: forbidden",
		}},
		"too few pods for a leaf": {cluster.State{}, 2, "", Leaves{}},
	} {
		var targets []launch.Target
		for _, node := range []string{"gpu-1", "gpu-2", "gpu-3"}[:c.pods] {
			targets = append(targets, launch.Target{Pod: cluster.Pod{Node: node}})
		}
		if d := cmp.Diff(c.want, leavesOf(c.state, targets, c.label), cmpopts.EquateEmpty()); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}
