package html

import (
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/plan/setup"
	"github.com/railhead/railhead/internal/rules/clusterrules"
)

// Rollout shows how many nodes of a pool have its configuration.
type Rollout struct {
	Pool   string       `json:"pool"`
	Text   string       `json:"-"` // 4 of 13 nodes done
	Total  int          `json:"total"`
	States []StateCount `json:"states"`
	Nodes  []plan.Item  `json:"-"` // without the configuration
	Stuck  string       `json:"-"`
}

// StateCount is the number of nodes in a state.
type StateCount struct {
	State string `json:"state"`
	Count int    `json:"count"`
}

// rolloutsOf returns the rollouts of the pools that have nodes.
func rolloutsOf(s cluster.State) []Rollout {
	var all []Rollout
	for _, pool := range s.Pools {
		if pool.Machines == 0 {
			continue
		}
		progress := setup.RolloutDone(clusterrules.Rollout{Pool: pool.Name})(s)
		r := Rollout{Pool: pool.Name, Text: progress.Of(pool.Name)}
		done := 0
		for _, bar := range progress.Bars {
			done, r.Total = bar.Count, bar.Total
		}
		nodes := map[string]int{"Done": done}
		for _, item := range progress.Items {
			if !item.Done {
				nodes[item.State]++
				r.Nodes = append(r.Nodes, item)
			}
		}
		nodes[plan.Waiting] += max(0, r.Total-done-len(r.Nodes))
		for _, state := range []string{"Done", "Working", "Rebooting", "Degraded", "Unreconcilable", plan.Waiting} {
			if n := nodes[state]; n > 0 {
				r.States = append(r.States, StateCount{state, n})
			}
		}
		if progress.Stuck != nil {
			r.Stuck = progress.Stuck.Summary
		}
		all = append(all, r)
	}
	return all
}
