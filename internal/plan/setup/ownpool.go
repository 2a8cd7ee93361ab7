package setup

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/rules/clusterrules"
	"github.com/railhead/railhead/internal/words"
)

const roleOfNode = "node-role.kubernetes.io/"

// ownPool is a custom pool that takes the nodes with RDMA NICs or GPUs out of pool worker.
type ownPool struct {
	part
	s      cluster.State // with the pool, and the nodes in it
	pool   cluster.Pool
	exists bool
	moves  []string // nodes
}

// planOwnPool plans the pool of --own-pool. Without that flag, it moves no nodes.
func planOwnPool(s cluster.State, o Options) *ownPool {
	own := &ownPool{s: s}
	if o.OwnPool == "" || !o.setsNodes(s) {
		return own
	}
	worker, _ := s.Pool(cluster.WorkerPool)
	pools, able, _ := clusterrules.PoolsWithRDMA(s)
	for _, name := range pools {
		if name != cluster.WorkerPool && name != o.OwnPool {
			own.Note("Pool %s has nodes with RDMA NICs or GPUs too. Set it up with --pool %s.", name, name)
		}
	}
	own.s.Nodes = slices.Clone(s.Nodes)
	for i, n := range s.Nodes {
		if p, _ := s.PoolOf(n); p.Name == cluster.WorkerPool && slices.Contains(able, n.Name) {
			labels := maps.Clone(n.Labels)
			labels[roleOfNode+o.OwnPool] = ""
			own.s.Nodes[i].Labels = labels
			own.moves = append(own.moves, n.Name)
		}
	}
	slices.Sort(own.moves)
	if own.pool, own.exists = s.Pool(o.OwnPool); !own.exists {
		own.pool = cluster.Pool{
			Name:         o.OwnPool,
			NodeSelector: map[string]string{roleOfNode + o.OwnPool: ""},
			ConfigSelector: cluster.Selector{MatchExpressions: []cluster.Requirement{
				{Key: plan.RoleLabel, Operator: "In", Values: []string{cluster.WorkerPool, o.OwnPool}},
			}},
			MaxUnavailable: worker.OwnMaxUnavailable(),
			Target:         worker.Target,
			Current:        worker.Current,
		}
		own.s.Pools = append(slices.Clone(s.Pools), own.pool)
	}
	own.judge(s, worker)
	return own
}

// judge refuses a pool or a label of somebody else, and a pool worker that gives no node away, or that an earlier run
// is changing.
func (own *ownPool) judge(s cluster.State, worker cluster.Pool) {
	name, label := own.pool.Name, roleOfNode+own.pool.Name
	_, ours := s.Object("MachineConfigPool", "", name)
	var labelled []string
	for _, n := range s.Nodes {
		if _, has := n.Labels[label]; has {
			labelled = append(labelled, n.Name)
		}
	}
	refuse := func(id check.ID, summary string, evidence []check.Evidence, fix *check.Fix) {
		own.Fail(id, check.Named(check.Pool, name), summary, evidence, fix)
	}
	another := check.ByAdmin("Choose another name.", "railhead setup cluster --own-pool NAME")
	switch {
	case len(validation.IsDNS1123Label(name)) > 0:
		refuse(plan.NameFree, fmt.Sprintf("%q is no name for a machine config pool", name),
			check.Observed("--own-pool", name, "lower-case letters, digits and hyphens"), another)
	case own.exists && !ours:
		refuse(plan.NameFree, fmt.Sprintf("pool %s exists and was not created by Railhead", name),
			check.Observed("MachineConfigPool/"+name+" label "+plan.LabelManagedBy, "none", plan.ManagedBy),
			check.ByAdmin("Set it up as it is, or choose another name.", "railhead setup cluster --pool "+name))
	case !own.exists && len(labelled) > 0:
		refuse(plan.NameFree, fmt.Sprintf("label %s, which would select the nodes of pool %s, is in use on %s",
			label, name, words.Few(labelled, 4)),
			check.Observed("nodes with label "+label, strings.Join(labelled, ", "), "none"), another)
	case !own.exists && len(own.moves) == 0:
		refuse(PoolNodes, "no node of pool worker has RDMA NICs or GPUs, so pool "+name+" would have no nodes",
			check.Observed("nodes of pool worker with RDMA NICs or GPUs", "none", "1 or more"),
			check.ByAdmin("Set up the pools of the nodes.", "railhead setup cluster"))
	case len(own.moves) > 0 && worker.InSetup():
		refuse(clusterrules.PoolIdle, "pool worker, whose nodes would move, is in the middle of an earlier setup",
			check.Observed("MachineConfigPool/worker annotation "+cluster.AnnotationPausedBy,
				cluster.PausedBySetup, "no annotation"),
			check.ByAdmin("Complete that setup, or undo it.", "railhead setup cluster", "railhead setup rollback"))
	case len(own.moves) > 0:
		own.Report(clusterrules.PoolBlockers(s, worker, s.NodesOf(worker.Name))...)
	}
}

// settled returns the nodes that were in their pool before.
func (own *ownPool) settled(nodes []cluster.Node) []cluster.Node {
	return slices.DeleteFunc(slices.Clone(nodes), func(n cluster.Node) bool {
		return slices.Contains(own.moves, n.Name)
	})
}

// createStep returns the step that creates the pool, yet without nodes.
func (own *ownPool) createStep() []plan.Step {
	if own.pool.Name == "" || own.exists {
		return nil
	}
	spec := map[string]any{
		"machineConfigSelector": map[string]any{"matchExpressions": []any{map[string]any{
			"key": plan.RoleLabel, "operator": "In", "values": []any{cluster.WorkerPool, own.pool.Name},
		}}},
		"nodeSelector": map[string]any{"matchLabels": map[string]any{roleOfNode + own.pool.Name: ""}},
	}
	if most := own.pool.MaxUnavailable; most != "" {
		spec["maxUnavailable"] = intOrPercent(most)
	}
	pool := object(machineConfigVersion, "MachineConfigPool", own.pool.Name, map[string]any{"spec": spec})
	return []plan.Step{{
		ID:      "own-pool",
		Title:   "Create pool " + own.pool.Name,
		Changes: []plan.Change{{Verb: plan.Apply, Object: pool, Why: "also takes the configuration of worker"}},
	}}
}

// labels returns the changes that move the nodes into the pool.
func (own *ownPool) labels() []plan.Change {
	var changes []plan.Change
	for _, node := range own.moves {
		changes = append(changes, labelNode(node, own.pool.Name, "", "moves it into pool "+own.pool.Name))
	}
	return changes
}

// labelNode is the change of a node's role label; a nil value removes it.
func labelNode(node, pool string, value any, why string) plan.Change {
	return plan.Change{Verb: plan.Merge, Why: why, Object: unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1",
		"kind":       "Node",
		"metadata":   map[string]any{"name": node, "labels": map[string]any{roleOfNode + pool: value}},
	}}}
}

// joinStep moves nodes into the pool, whose configuration stays.
func (own *ownPool) joinStep() []plan.Step {
	if len(own.moves) == 0 || !own.exists {
		return nil
	}
	return []plan.Step{{
		ID:      "own-pool",
		Title:   fmt.Sprintf("Move %s into pool %s", words.Count(len(own.moves), "node"), own.pool.Name),
		Changes: own.labels(),
		Disruption: plan.Disruption{RestartsPods: true, Reboots: []plan.Reboot{{
			Pool: own.pool.Name, Nodes: own.moves,
			AtOnce: cluster.AtOnce(own.pool.OwnMaxUnavailable(), len(own.s.NodesOf(own.pool.Name))),
		}}},
		Done:  arrived(own.pool.Name),
		Watch: []cluster.Kind{cluster.Pools, cluster.Nodes},
	}}
}

// blockers returns the obstacles to nodes that join the pool. A running rollout is none: it takes them along.
func (own *ownPool) blockers() []check.Finding {
	nodes := own.settled(own.s.NodesOf(own.pool.Name))
	return slices.DeleteFunc(clusterrules.PoolBlockers(own.s, own.pool, nodes), func(f check.Finding) bool {
		return f.Check == clusterrules.PoolIdle
	})
}

// arrived is done when all nodes of a pool have its configuration. Right after a node changed its pool, the counts of
// the pool are still those from before.
func arrived(pool string) plan.Condition {
	rollout := RolloutDone(clusterrules.Rollout{Pool: pool})
	return func(s cluster.State) plan.Progress {
		if p := s.Problem(cluster.Nodes); p != nil {
			return plan.Progress{Text: "nodes could not be read: " + p.Err}
		}
		progress := rollout(s)
		p, _ := s.Pool(pool)
		missing := func(n cluster.Node) bool { return !finished(n, p.Target) }
		progress.Done = progress.Done && !slices.ContainsFunc(s.NodesOf(pool), missing)
		return progress
	}
}

// undoPools moves the nodes of setup's own pools back to worker, and deletes the pools. Their configuration is the same
// as worker's again, so no node reboots, unless somebody gave the pool a MachineConfig. A pool must exist until its
// last node has the configuration of worker: its rendered configurations are deleted with it, and a node's daemon needs
// the one that the node leaves.
func undoPools(s cluster.State) part {
	var p part
	for _, o := range created(s, "MachineConfigPool") {
		nodes := s.NodesOf(o.Name)
		back := plan.Step{
			ID:    "nodes-back",
			Title: "Move the nodes of pool " + o.Name + " back to pool worker: no node reboots",
			Done:  arrived(cluster.WorkerPool),
			Watch: []cluster.Kind{cluster.Pools, cluster.Nodes},
		}
		if lost := configsOfOthers(s, o.Name); len(lost) > 0 && len(nodes) > 0 {
			back.Title = "Move the nodes of pool " + o.Name + " back to pool worker: " + nodesReboot(len(nodes))
			back.Disruption = backToWorker(s, nodes)
			p.Report(losesConfigs(o.Name, lost, len(nodes)))
		}
		for _, n := range nodes {
			back.Changes = append(back.Changes, labelNode(n.Name, o.Name, nil, "moves it back to pool worker"))
		}
		p.steps = append(p.steps, back, plan.Step{
			ID:      "own-pool",
			Title:   "Delete pool " + o.Name,
			Changes: []plan.Change{plan.Deletion(o, "created by setup cluster")},
		})
	}
	return p
}

// configsOfOthers returns the MachineConfigs that a pool has and worker has not, except setup's own and the two that
// the machine-config-operator generates alike for every pool (pkg/controller/kubelet-config helpers.go).
func configsOfOthers(s cluster.State, pool string) []string {
	own, _ := s.Pool(pool)
	worker, _ := s.Pool(cluster.WorkerPool)
	known := []string{"97-" + pool + "-generated-kubelet", "98-" + pool + "-generated-kubelet"}
	for _, m := range plan.SelectedConfigs(worker, s.MachineConfigs) {
		known = append(known, m.Name)
	}
	var names []string
	for _, m := range plan.SelectedConfigs(own, s.MachineConfigs) {
		if !createdBySetup(m.Labels) && !slices.Contains(known, m.Name) {
			names = append(names, m.Name)
		}
	}
	return names
}

// backToWorker is the disruption of nodes whose configuration changes when they join pool worker.
func backToWorker(s cluster.State, nodes []cluster.Node) plan.Disruption {
	worker, _ := s.Pool(cluster.WorkerPool)
	reboot := plan.Reboot{
		Pool:   worker.Name,
		AtOnce: cluster.AtOnce(worker.OwnMaxUnavailable(), len(s.NodesOf(worker.Name))+len(nodes)),
	}
	for _, n := range nodes {
		reboot.Nodes = append(reboot.Nodes, n.Name)
	}
	return plan.Disruption{RestartsPods: true, Reboots: []plan.Reboot{reboot}}
}

// losesConfigs warns of MachineConfigs that apply to no node when a pool is deleted.
func losesConfigs(pool string, configs []string, nodes int) check.Finding {
	return check.Finding{
		Check: PoolNodes, Status: check.Warn, Subject: check.Named(check.Pool, pool),
		Summary: fmt.Sprintf("pool %s has %s of its own, which Railhead did not create: "+
			"%s lose what it sets, and reboot, when the pool is deleted",
			pool, words.Count(len(configs), "MachineConfig"), words.Count(nodes, "node")),
		Evidence: check.Observed("MachineConfigs that only pool "+pool+" selects", strings.Join(configs, ", "), "none"),
		Fix: check.ByAdmin("To keep the pool, remove Railhead's label from it before the rollback.",
			fmt.Sprintf("oc label machineconfigpool %s %s-", pool, plan.LabelManagedBy)),
	}
}
