package setup

import (
	"slices"
	"time"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	clusterrules "github.com/railhead/railhead/internal/rules/cluster"
)

// ClusterStatus is the content of `railhead setup status`.
type ClusterStatus struct {
	Pools []PoolStatus
	SCC   string             // the SCC that setup made; "" when it is not there
	Users []cluster.SCCGrant // who may use it
}

// PoolStatus is one pool that has MachineConfigs of setup, that setup has in hand, or that is being rolled out: after a
// rollback nothing else tells that its nodes are on their way back.
type PoolStatus struct {
	Pool           string
	MachineConfigs []string // of setup, that the pool selects
	Paused         bool     // by setup: a run was broken off, or its check failed
	Started        time.Time
	Progress       plan.Progress
}

// Condition follows the pools that the status is about.
func (c ClusterStatus) Condition() plan.Condition {
	list := make([]clusterrules.Rollout, 0, len(c.Pools))
	for _, p := range c.Pools {
		list = append(list, clusterrules.Rollout{Pool: p.Pool, With: p.MachineConfigs})
	}
	return RolloutDone(list...)
}

// Status returns the progress of everything that setup made.
func Status(s cluster.State) ClusterStatus {
	var status ClusterStatus
	pools := slices.Clone(s.Pools)
	slices.SortFunc(pools, byName)
	for _, p := range pools {
		var names []string
		for _, m := range plan.SelectedConfigs(p, s.MachineConfigs) {
			if madeBySetup(m.Labels) {
				names = append(names, m.Name)
			}
		}
		if len(names) == 0 && !p.InSetup() && !p.Rolling(s.NodesOf(p.Name)) {
			continue
		}
		ps := PoolStatus{Pool: p.Name, MachineConfigs: names, Paused: p.Paused && p.InSetup()}
		if c := p.Condition("Updating"); c.Status == "True" {
			ps.Started = c.Since
		}
		ps.Progress = RolloutDone(clusterrules.Rollout{Pool: p.Name, With: names})(s)
		status.Pools = append(status.Pools, ps)
	}
	if _, ok := s.SCC(plan.SCCName); ok {
		status.SCC = plan.SCCName
		status.Users = usersOf(s, plan.SCCName)
	}
	return status
}

// usersOf are the grants that name an SCC itself.
func usersOf(s cluster.State, scc string) []cluster.SCCGrant {
	return slices.DeleteFunc(slices.Clone(s.SCCGrants), func(g cluster.SCCGrant) bool { return g.SCC != scc })
}
