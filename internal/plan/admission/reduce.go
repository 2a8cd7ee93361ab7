package admission

import (
	"fmt"
	"maps"
	"strings"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan/job"
)

// Reduce returns a State that gives the same decisions with fewer nodes: one stands for all that offer the same devices
// to the same pods. An answer then takes no longer in a large cluster.
func Reduce(s cluster.State) cluster.State {
	selectors := ""
	for _, n := range s.Namespaces {
		selectors += "\n" + n.Annotations[job.ProjectSelector]
	}
	seen := map[string]bool{}
	all := s.Nodes
	s.Nodes = nil
	for _, n := range all {
		n = cluster.Node{
			Name: n.Name, Ready: n.Ready, Arch: n.Arch, Taints: n.Taints,
			Labels: maps.Clone(n.Labels), Allocatable: maps.Clone(n.Allocatable),
		}
		maps.DeleteFunc(n.Labels, func(key, _ string) bool { return !strings.Contains(selectors, key) })
		maps.DeleteFunc(n.Allocatable, func(name string, _ int64) bool { return !strings.Contains(name, "/") })
		kind := fmt.Sprint(n.Ready, n.Arch, n.Taints, n.Labels, n.Allocatable) // fmt sorts the keys of maps
		if !seen[kind] {
			seen[kind] = true
			s.Nodes = append(s.Nodes, n)
		}
	}
	return s
}
