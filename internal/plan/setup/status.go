package setup

import (
	"slices"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/rules/clusterrules"
)

// ClusterStatus is the content of `railhead setup status`.
type ClusterStatus struct {
	Pools  []PoolStatus
	SCC    string             // the SCC that setup created; "" if there is none
	Users  []cluster.SCCGrant // who may use it
	Unread []cluster.Problem  // of the lists that could not be read
}

// UsersKnown reports whether it is known who may use the SCC.
func (c ClusterStatus) UsersKnown() bool {
	return !slices.ContainsFunc(c.Unread, func(p cluster.Problem) bool { return p.Kind == cluster.SCCGrants })
}

// PoolStatus is one pool that has MachineConfigs of setup, that setup left paused, or that is being rolled out: after a
// rollback nothing else tells that its nodes are still changing.
type PoolStatus struct {
	Pool           string
	MachineConfigs []string // of setup, that the pool selects
	Paused         bool     // by setup: a run was interrupted, or its check failed
	Progress       plan.Progress
}

// Condition is done when all pools of the status are.
func (c ClusterStatus) Condition() plan.Condition {
	var rollouts []clusterrules.Rollout
	for _, p := range c.Pools {
		rollouts = append(rollouts, clusterrules.Rollout{Pool: p.Pool, With: p.MachineConfigs})
	}
	return RolloutDone(rollouts...)
}

// Status returns the progress of everything that setup created.
func Status(s cluster.State) ClusterStatus {
	var status ClusterStatus
	for _, p := range poolsByName(s) {
		names := configsOf(p, s.MachineConfigs)
		if len(names) == 0 && !p.InSetup() && !p.Rolling(s.NodesOf(p.Name)) {
			continue
		}
		status.Pools = append(status.Pools, PoolStatus{
			Pool:           p.Name,
			MachineConfigs: names,
			Paused:         p.Paused && p.InSetup(),
			Progress:       RolloutDone(clusterrules.Rollout{Pool: p.Name, With: names})(s),
		})
	}
	if _, ok := s.SCC(plan.SCCName); ok {
		status.SCC = plan.SCCName
		status.Users = usersOf(s, plan.SCCName)
	}
	for _, kind := range []cluster.Kind{
		cluster.Nodes, cluster.Pools, cluster.MachineConfigs, cluster.SCCs, cluster.SCCGrants,
	} {
		if p := s.Problem(kind); p != nil {
			status.Unread = append(status.Unread, *p)
		}
	}
	return status
}

// usersOf returns the grants that name an SCC itself.
func usersOf(s cluster.State, scc string) []cluster.SCCGrant {
	return slices.DeleteFunc(slices.Clone(s.SCCGrants), func(g cluster.SCCGrant) bool { return g.SCC != scc })
}
