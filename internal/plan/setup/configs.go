package setup

import (
	"fmt"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/rules/clusterrules"
	"github.com/railhead/railhead/internal/words"
)

// configPlan collects the MachineConfigs to write.
type configPlan struct {
	part
	s       cluster.State
	configs []cluster.MachineConfig // of the cluster, with the writes
	pools   []string                // that are set up
	writes  []configWrite
}

// configWrite is a MachineConfig to write.
type configWrite struct {
	cluster.MachineConfig
	why      string
	replaces bool // one with other content exists
}

// planConfigs returns the MachineConfigs for the requested pools, otherwise for those with RDMA NICs or GPUs, otherwise
// for worker.
func planConfigs(s cluster.State, o Options) *configPlan {
	c := &configPlan{s: s, configs: slices.Clone(s.MachineConfigs)}
	if !o.setsNodes(s) {
		if !o.NoIOMMU || !o.NoMemlock {
			c.Report(noMachineConfigs(s, o))
		}
		return c
	}
	names := slices.Clone(o.Pools)
	withRDMA, rdmaNodes, strays := clusterrules.PoolsWithRDMA(s)
	if len(names) == 0 {
		names = slices.Clone(withRDMA)
		if len(strays) > 0 {
			c.Report(strayNodes(strays))
		}
		if len(names) == 0 {
			names = []string{cluster.WorkerPool}
		}
	}
	slices.SortFunc(names, workerFirst)
	for _, name := range slices.Compact(names) {
		p, ok := s.Pool(name)
		if !ok {
			c.Report(noPool(s, name))
			continue
		}
		c.pools = append(c.pools, name)
		if !o.NoIOMMU {
			c.iommu(p)
		}
		if !o.NoMemlock {
			c.memlock(p)
		}
	}
	if len(c.writes) > 0 && len(o.Pools) == 0 {
		c.noteDiscovered(withRDMA, rdmaNodes)
	}
	return c
}

// noteDiscovered notes why these pools were chosen, and which nodes reboot only because they share a pool.
func (c *configPlan) noteDiscovered(pools, rdmaNodes []string) {
	if len(pools) == 0 {
		c.Note("No node shows RDMA NICs or GPUs, so pool %s is set up.", cluster.WorkerPool)
	}
	for _, name := range pools {
		nodes := c.s.NodesOf(name)
		able := 0
		for _, node := range nodes {
			if slices.Contains(rdmaNodes, node.Name) {
				able++
			}
		}
		hint := ""
		if name == cluster.WorkerPool {
			hint = " (--own-pool NAME)"
		}
		if others := len(nodes) - able; others > 0 {
			c.Note("%d nodes of pool %s will reboot, but only %d have RDMA NICs or GPUs. "+
				"A separate machine config pool for those %d%s would avoid %d reboots.",
				len(nodes), name, able, able, hint, others)
		}
	}
}

// iommu plans the kernel arguments of a pool.
func (c *configPlan) iommu(p cluster.Pool) {
	var have []string // MachineConfigs append to the arguments and never replace them
	for _, m := range plan.SelectedConfigs(p, c.configs) {
		have = append(have, m.KernelArguments...)
		for _, argument := range m.KernelArguments {
			if slices.Contains(translating, argument) {
				c.Report(contradiction(p, m, argument))
			}
		}
	}
	arguments, unknownVendor := passthrough(c.s.NodesOf(p.Name))
	missing := missingArguments(have, arguments)
	if slices.Contains(arguments, intelOn) && !slices.Contains(have, intelOn) && !slices.Contains(missing, intelOn) {
		c.Note("Pool %s already boots with passthrough, so %s is not added: "+
			"an Intel IOMMU that the kernel leaves off translates nothing.", p.Name, intelOn)
	}
	if len(missing) == 0 {
		return
	}
	if len(unknownVendor) > 0 && slices.Contains(missing, intelOn) {
		c.Note("The CPU vendor of %s in pool %s is unknown (no label feature.node.kubernetes.io/cpu-model.vendor_id), "+
			"so intel_iommu=on is set. Other CPUs ignore it.", words.Count(len(unknownVendor), "node"), p.Name)
	}
	m := cluster.MachineConfig{Name: c.freeName("99-" + p.Name + "-iommu-passthrough")}
	own, _ := c.config(m.Name)
	m.KernelArguments = slices.Concat(own.KernelArguments, missing)
	c.write(p, m, "boots the nodes with "+strings.Join(missing, " ")+
		", so that the IOMMU does not translate the NICs' access to GPU memory")
}

// memlock plans the locked-memory limit of a pool: a drop-in that CRI-O reads last and that keeps the other limits.
func (c *configPlan) memlock(p cluster.Pool) {
	name := c.freeName(plan.MemlockConfig(p.Name))
	selected := plan.SelectedConfigs(p, c.configs)
	all, others := plan.UlimitsOf(plan.CRIOFiles(selected)), plan.UlimitsOf(plan.CRIOFiles(without(selected, name)))
	for _, f := range others.Unread {
		c.Report(unreadDropIn(p, f))
	}
	keep := others.Others()
	if all.MemlockUnlimited() && all.Holds(keep) {
		return
	}
	f := memlockFile(keep, others.Last)
	if writesPath(without(selected, name), f.Path) {
		f.Compression = cluster.NotCompressed
	}
	if len(keep) > 0 {
		c.Note("%s keeps %s from %s (MachineConfig %s), because CRI-O uses only the list of the last file.",
			name, strings.Join(keep, ", "), others.From.Path, others.From.Config)
	}
	if f.Path != defaultDropIn {
		c.Note("%s writes %s, because CRI-O reads %s after 99-rdma-memlock.conf.", name, f.Path, others.Last)
	}
	c.write(p, cluster.MachineConfig{Name: name, Files: []cluster.File{f}},
		"lets unprivileged containers lock the memory that they register")
}

// writesPath reports whether a MachineConfig has a file with a path.
func writesPath(configs []cluster.MachineConfig, path string) bool {
	return slices.ContainsFunc(configs, func(m cluster.MachineConfig) bool {
		return slices.ContainsFunc(m.Files, func(f cluster.File) bool { return f.Path == path })
	})
}

// config returns a MachineConfig by its name.
func (c *configPlan) config(name string) (cluster.MachineConfig, bool) {
	i := slices.IndexFunc(c.configs, func(m cluster.MachineConfig) bool { return m.Name == name })
	if i < 0 {
		return cluster.MachineConfig{}, false
	}
	return c.configs[i], true
}

// freeName returns a name that no MachineConfig of somebody else has: base, otherwise base-2 and so on. Another
// MachineConfig can add to theirs, and to replace theirs could reboot the nodes twice.
func (c *configPlan) freeName(base string) string {
	name := base
	for i := 2; ; i++ {
		existing, taken := c.config(name)
		if !taken || createdBySetup(existing.Labels) {
			return name
		}
		name = fmt.Sprintf("%s-%d", base, i)
	}
}

// write plans one MachineConfig, unless no label selects the pool alone.
func (c *configPlan) write(p cluster.Pool, m cluster.MachineConfig, why string) {
	_, replaces := c.config(m.Name)
	role, ok := roleFor(p, c.s.Pools)
	if !ok {
		c.Report(noRole(p))
		return
	}
	m.Labels = plan.Labels(ComponentSetup, "")
	m.Labels[plan.RoleLabel] = role
	c.configs = append(without(c.configs, m.Name), m)
	c.writes = append(c.writes, configWrite{MachineConfig: m, why: why, replaces: replaces})
}

// without returns the MachineConfigs without one.
func without(configs []cluster.MachineConfig, name string) []cluster.MachineConfig {
	return slices.DeleteFunc(slices.Clone(configs), func(m cluster.MachineConfig) bool { return m.Name == name })
}

// roleFor returns the value of the role label that makes a MachineConfig apply to a pool: its own name, otherwise a
// value that its selector names and no other pool's does.
func roleFor(p cluster.Pool, pools []cluster.Pool) (string, bool) {
	values := []string{p.Name, p.ConfigSelector.MatchLabels[plan.RoleLabel]}
	for _, e := range p.ConfigSelector.MatchExpressions {
		if e.Key == plan.RoleLabel && e.Operator == "In" {
			values = append(values, e.Values...)
		}
	}
	for _, value := range values {
		labels := map[string]string{plan.RoleLabel: value}
		selects := func(q cluster.Pool) bool {
			return cluster.Selects(q.ConfigSelector.MatchLabels, q.ConfigSelector.MatchExpressions, labels)
		}
		others := slices.ContainsFunc(pools, func(q cluster.Pool) bool { return q.Name != p.Name && selects(q) })
		if value != "" && selects(p) && (!others || value == p.Name) {
			return value, true
		}
	}
	return "", false
}
