package html

import (
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
)

// Rollout is how far the nodes of a pool are with its configuration.
type Rollout struct {
	Pool   string        `json:"pool"`
	Text   string        `json:"text"` // 4 of 13 nodes done
	Done   int           `json:"done"`
	Total  int           `json:"total"`
	States []StateCount  `json:"states"`
	Nodes  []RolloutNode `json:"-"` // those that are not done
	Stuck  string        `json:"-"`
}

// StateCount is how many nodes are in a state.
type StateCount struct {
	State string `json:"state"`
	Count int    `json:"count"`
}

// RolloutNode is a node that does not have the configuration yet.
type RolloutNode struct{ Name, State, Note string }

// FromState is the page of a cluster whose pools take a configuration.
func FromState(s cluster.State) Page {
	p := Page{Title: "Cluster", Sources: []Source{{"Cluster", s.Server.URL, s.Taken}}, Rollouts: rolloutsOf(s)}
	p.Verdict = Verdict{Status: check.Pass, Text: "Every pool has its configuration."}
	for _, r := range p.Rollouts {
		switch {
		case r.Stuck != "":
			p.Verdict = Verdict{Status: check.Fail, Text: r.Pool + ": " + r.Stuck}
		case r.Done < r.Total && p.Verdict.Status == check.Pass:
			p.Verdict = Verdict{Status: check.Warn, Text: "A rollout goes on: " + r.Text + " in pool " + r.Pool + "."}
		}
	}
	if len(p.Rollouts) == 0 {
		p.Verdict = Verdict{Status: check.Unknown, Text: "No machine config pool was seen."}
	}
	return p
}

// rolloutsOf are the pools that have nodes.
func rolloutsOf(s cluster.State) []Rollout {
	var all []Rollout
	for _, pool := range s.Pools {
		if pool.Machines == 0 {
			continue
		}
		progress := plan.RolloutDone(plan.Rollout{Pool: pool.Name})(s)
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
