package html

import (
	"strings"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/plan/setup"
	clusterrules "github.com/railhead/railhead/internal/rules/cluster"
)

// Rollout shows how many nodes of a pool have its configuration.
type Rollout struct {
	Pool   string        `json:"pool"`
	Text   string        `json:"text"` // 4 of 13 nodes done
	Done   int           `json:"done"`
	Total  int           `json:"total"`
	States []StateCount  `json:"states"`
	Nodes  []RolloutNode `json:"-"` // without the configuration
	Stuck  string        `json:"-"`
}

// StateCount is the number of nodes in a state.
type StateCount struct {
	State string `json:"state"`
	Count int    `json:"count"`
}

// RolloutNode is a node without the configuration.
type RolloutNode struct{ Name, State, Note string }

// rolloutsOf returns the rollouts of the pools that have nodes.
func rolloutsOf(s cluster.State) []Rollout {
	var all []Rollout
	for _, pool := range s.Pools {
		if pool.Machines == 0 {
			continue
		}
		progress := setup.RolloutDone(clusterrules.Rollout{Pool: pool.Name})(s)
		r := Rollout{Pool: pool.Name, Text: strings.TrimPrefix(progress.Text, pool.Name+": ")}
		for _, bar := range progress.Bars {
			r.Done, r.Total = bar.Count, bar.Total
		}
		by := map[string]int{"Done": r.Done}
		for _, item := range progress.Items {
			if !item.Done {
				by[item.State]++
				r.Nodes = append(r.Nodes, RolloutNode{item.Name, item.State, item.Note})
			}
		}
		if left := r.Total - r.Done - len(r.Nodes); left > 0 {
			by[plan.Waiting] += left
		}
		for _, state := range []string{"Done", "Working", "Rebooting", "Degraded", "Unreconcilable", plan.Waiting} {
			if by[state] > 0 {
				r.States = append(r.States, StateCount{state, by[state]})
			}
		}
		if progress.Stuck != nil {
			r.Stuck = progress.Stuck.Summary
		}
		all = append(all, r)
	}
	return all
}
