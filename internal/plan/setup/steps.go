package setup

import (
	"fmt"
	"slices"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/rules/clusterrules"
	"github.com/railhead/railhead/internal/words"
)

// nodesPart pauses the pools, writes the MachineConfigs and resumes, so that each node reboots once.
func nodesPart(s cluster.State, o Options) part {
	own := planOwnPool(s, o)
	if own.Failed() {
		return own.part
	}
	s = own.s
	if o.OwnPool != "" {
		o.Pools = []string{o.OwnPool}
	}
	c := planConfigs(s, o)
	p := c.part
	p.Notes = append(own.Notes, p.Notes...)
	held := c.held()
	if len(held) == 0 {
		if p.steps = own.joinStep(); len(p.steps) > 0 {
			p.Report(own.blockers()...)
		}
		if o.setsNodes(s) {
			p.noteUnfinished(s, c.configs)
		}
		return p
	}
	for i, h := range held {
		p.judgePool(s, h, own.settled(h.Nodes))
		held[i].First = o.verifies(s, h)
	}
	p.steps = slices.Concat(own.createStep(), held.steps(c.title(own), slices.Concat(own.labels(), c.changes())))
	for _, h := range held {
		if h.Written && !slices.Contains(c.pools, h.Name) {
			p.Note("Pool %s also selects the MachineConfigs of %s, so its nodes get them too.",
				h.Name, poolNames(c.pools))
		}
		p.noteReboots(h)
	}
	if !o.NoIOMMU {
		p.noteFirst(s, held)
	}
	return p
}

// verifies reports whether a node of the pool is updated and checked before the others.
func (o Options) verifies(s cluster.State, h heldPool) bool {
	wanted := o.VerifyFirst || h.Pool.VerifiesFirst() && !o.SkipVerify
	complete := !h.Written && progressOf(s, h.Rollout).done
	return wanted && len(h.Nodes) > 0 && !complete
}

// noteFirst notes the pools in which the check of the first node may show nothing about the IOMMU.
func (p *part) noteFirst(s cluster.State, held heldPools) {
	for _, h := range held {
		able := len(withRDMA(s, h.Name))
		others := len(h.Nodes) - able
		if !h.First || h.started() || able == 0 || others == 0 {
			continue
		}
		p.Note("The Machine Config Operator picks the node of pool %s that is checked first. %d of its %d nodes have "+
			"no RDMA NIC and no GPU: if it picks one of those, the check shows nothing about the IOMMU, "+
			"and the rollout stays paused.", h.Name, others, len(h.Nodes))
	}
}

// noteUnfinished notes the pools of setup that are still being rolled out.
func (p *part) noteUnfinished(s cluster.State, configs []cluster.MachineConfig) {
	for _, pool := range s.Pools {
		if len(configsOf(pool, configs)) > 0 {
			p.noteRolling(pool, s.NodesOf(pool.Name))
		}
	}
}

// judgePool reports what prevents or hinders the rollout of a pool.
func (p *part) judgePool(s cluster.State, h heldPool, settled []cluster.Node) {
	if h.Written {
		p.Report(clusterrules.PoolBlockers(s, h.Pool, settled)...)
		p.Report(availability(h.Pool, h.Nodes)...)
		return
	}
	p.Note("An earlier run did not finish pool %s: this run completes it.", h.Name)
	fix := check.ByAdmin("If the new configuration is to blame, undo it.", "railhead setup rollback")
	p.Report(unfinished(s, h, fix)...)
}

// changes returns the changes that write the MachineConfigs.
func (c *configPlan) changes() []plan.Change {
	var changes []plan.Change
	for _, w := range c.writes {
		object := machineConfigObject(w.MachineConfig)
		changes = append(changes, plan.Change{Verb: plan.Apply, Object: object, Why: w.why})
	}
	return changes
}

func (c *configPlan) title(own *ownPool) string {
	configs := words.Count(len(c.writes), "MachineConfig")
	if len(own.moves) > 0 {
		return fmt.Sprintf("Move %s and write %s", words.Count(len(own.moves), "node"), configs)
	}
	return "Write " + configs
}

// held returns the pools that select the MachineConfigs to write, and those that an earlier run left paused.
func (c *configPlan) held() heldPools {
	var held heldPools
	for _, p := range poolsByName(c.s) {
		h := heldPool{
			Pool: p,
			Rollout: clusterrules.Rollout{
				Pool: p.Name,
				With: configsOf(p, c.configs),
				From: p.Annotations[cluster.AnnotationFrom],
			},
			Nodes: c.s.NodesOf(p.Name),
		}
		for _, w := range c.writes {
			if slices.Contains(h.With, w.Name) {
				h.Written = true
				if w.replaces && slices.Contains(p.TargetSources, w.Name) {
					h.From = p.Target
				}
			}
		}
		if h.Written || p.InSetup() {
			held = append(held, h)
		}
	}
	return held
}

// noteReboots notes how many nodes of a pool reboot, and how long that takes.
func (p *part) noteReboots(h heldPool) {
	nodes := len(h.reboots())
	if nodes == 0 {
		return
	}
	room := cluster.AtOnce(h.Pool.OwnMaxUnavailable(), len(h.Nodes))
	rounds := rebootRounds(nodes, room)
	if h.First {
		rounds = 1 + rebootRounds(nodes-1, room)
	}
	text := nodesReboot(nodes)
	if nodes > 1 {
		text += fmt.Sprintf(", %d at a time", room)
	}
	// An assumption with the drain: bare metal with several NICs and GPUs boots slowly.
	p.Note("Pool %s: %s: about %s to %s, at an estimated 10 to 15 minutes per node.",
		h.Name, text, inHours(rounds*10), inHours(rounds*15))
	if h.Name == cluster.MasterPool {
		p.Note("The nodes of pool %s are the control plane: "+
			"if the cluster has one node only, its API is unavailable while the node reboots.", cluster.MasterPool)
	}
}

// rebootRounds returns how many times nodes reboot one after the other, atOnce at a time.
func rebootRounds(nodes, atOnce int) int { return (nodes + atOnce - 1) / atOnce }

// inHours returns "45 min", "1 h" or "2 h 10 min".
func inHours(minutes int) string {
	switch {
	case minutes < 60:
		return fmt.Sprintf("%d min", minutes)
	case minutes%60 == 0:
		return fmt.Sprintf("%d h", minutes/60)
	}
	return fmt.Sprintf("%d h %d min", minutes/60, minutes%60)
}
