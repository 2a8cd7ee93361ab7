package job

import (
	"slices"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/nccl"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/workload"
)

// Kinds returns the kinds that every plan of a job reads. Needs returns the others.
func Kinds(server cluster.Server, o Options) []cluster.Kind {
	kinds := []cluster.Kind{cluster.Nodes, cluster.Pods, cluster.Namespaces, cluster.ServiceAccounts, cluster.Quotas}
	if o.Mode == nccl.TCP {
		return kinds
	}
	kinds = append(kinds, cluster.Networks)
	if server.Serves(cluster.MachineConfigGroup) {
		kinds = append(kinds, cluster.Pools)
	}
	return kinds
}

// Needs returns what else must be read, as what was read shows: the job as it is, where its pods are there already; how
// memory is unlocked where setup did not do it; and what the pods' account may use where they need a security context
// constraint.
func Needs(s cluster.State, o Options) []cluster.Kind {
	var kinds []cluster.Kind
	if len(workload.PodsOf(s, o.Name, o.Namespace)) > 0 {
		kinds = append(kinds, cluster.Objects)
	}
	if !s.Server.OpenShift() {
		return kinds
	}
	asks := o.SCC != "" || o.Privileged || o.Memlock == MemlockByIPCLock
	rails := s.UsableRails(o.Namespace)
	locked := o.Mode != nccl.TCP && o.Memlock != MemlockByNode && slices.ContainsFunc(
		s.Nodes, func(n cluster.Node) bool {
			offers := slices.ContainsFunc(rails, func(r cluster.Rail) bool { return r.PerNode[n.Name] > 0 })
			return offers && !unlockedBySetup(s, n)
		},
	)
	if locked && s.Server.Serves(cluster.MachineConfigGroup) {
		kinds = append(kinds, cluster.MachineConfigs)
	}
	if locked || asks {
		kinds = append(kinds, cluster.SCCs, cluster.SCCGrants)
	}
	return kinds
}

// unlockedBySetup reports whether a node runs the MachineConfig of setup that lets containers lock memory.
func unlockedBySetup(s cluster.State, n cluster.Node) bool {
	pool, ok := s.PoolOf(n)
	return ok && slices.Contains(sourcesOf(pool, n), plan.MemlockConfig(pool.Name))
}

// sourcesOf are the MachineConfigs that a node runs, not those that it will.
func sourcesOf(pool cluster.Pool, n cluster.Node) []string {
	if n.MachineConfig.Current != "" && n.MachineConfig.Current == pool.Target {
		return pool.TargetSources
	}
	return pool.CurrentSources
}
