package setup

import (
	"cmp"
	"slices"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/rules/clusterrules"
	"github.com/railhead/railhead/internal/words"
)

// workerFirst orders names of pools: custom pools, which usually inherit the configuration of worker, come after it.
func workerFirst(a, b string) int {
	return cmp.Or(plan.TrueFirst(a == cluster.WorkerPool, b == cluster.WorkerPool), cmp.Compare(a, b))
}

// poolsByName returns the cluster's pools in the order of their names.
func poolsByName(s cluster.State) []cluster.Pool {
	return slices.SortedFunc(slices.Values(s.Pools), func(a, b cluster.Pool) int { return cmp.Compare(a.Name, b.Name) })
}

// configsOf returns the names of the MachineConfigs of setup that a pool selects.
func configsOf(p cluster.Pool, configs []cluster.MachineConfig) []string {
	var names []string
	for _, m := range plan.SelectedConfigs(p, configs) {
		if createdBySetup(m.Labels) {
			names = append(names, m.Name)
		}
	}
	return names
}

// poolNames returns "pool worker", or "pools gpu and worker".
func poolNames(names []string) string {
	if len(names) == 1 {
		return "pool " + names[0]
	}
	return "pools " + words.And(names)
}

func isAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// noteRolling notes that a pool is still being rolled out.
func (p *part) noteRolling(pool cluster.Pool, nodes []cluster.Node) {
	if pool.Rolling(nodes) {
		p.Note("Pool %s is still being rolled out: %d of %d nodes are done. "+
			"Follow it with 'railhead setup status --follow'.", pool.Name, len(pool.UpToDate(nodes)), len(nodes))
	}
}

// unfinished returns the obstacles to a rollout that an earlier run started. A degraded pool is only a warning, and the
// rollout itself is no obstacle: they may be the reason for the plan.
func unfinished(s cluster.State, h heldPool, degraded *check.Fix) []check.Finding {
	var findings []check.Finding
	for _, f := range clusterrules.PoolBlockers(s, h.Pool, h.Nodes) {
		switch f.Check {
		case clusterrules.PoolIdle:
			continue
		case clusterrules.PoolHealthy:
			f.Status, f.Fix = check.Warn, degraded
		}
		findings = append(findings, f)
	}
	return findings
}
