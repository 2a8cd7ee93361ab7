package setup

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	clusterrules "github.com/railhead/railhead/internal/rules/cluster"
	"github.com/railhead/railhead/internal/words"
)

// RolloutDone is done when every node of the pools has the configuration. The pool's own word counts only for the new
// one: right after a MachineConfig is written the pool is still Updated, with the old.
func RolloutDone(rollouts ...clusterrules.Rollout) plan.Condition {
	return each(rollouts, func(p poolProgress) bool { return p.done })
}

// TargetRendered is done when the pools' next configuration has the MachineConfigs; a paused pool gets that far, and
// one whose nodes are degraded as well.
func TargetRendered(rollouts ...clusterrules.Rollout) plan.Condition {
	rendered := each(rollouts, func(p poolProgress) bool { return p.rendered })
	return func(s cluster.State) plan.Progress {
		p := rendered(s)
		if p.Done {
			p.Text = "the new configuration is rendered"
		}
		p.Bars, p.Items, p.Stuck = nil, nil, nil // no node has anything to do with it yet
		for _, r := range rollouts {
			if pool, ok := s.Pool(r.Pool); !ok {
				p.AddObstacle(*r.NoPool())
			} else if o := r.RenderBlocker(pool); o != nil && !p.Done {
				p.AddObstacle(*o)
			}
		}
		return p
	}
}

// FirstStarted is done when a node of every pool was told to take the configuration.
func FirstStarted(rollouts ...clusterrules.Rollout) plan.Condition {
	return each(rollouts, func(p poolProgress) bool { return p.rendered && p.started > 0 })
}

// FirstDone is done when a node of every pool has the configuration and works.
func FirstDone(rollouts ...clusterrules.Rollout) plan.Condition {
	return each(rollouts, func(p poolProgress) bool { return p.rendered && p.finished > 0 })
}

// FirstNodes are the nodes that have the new configuration when a plan's StepVerifyFirst is reached.
func FirstNodes(s cluster.State, p plan.Plan) []string {
	var names []string
	for _, r := range p.Reboots() {
		pool, _ := s.Pool(r.Pool)
		for _, n := range s.NodesOf(r.Pool) {
			if finished(n, pool.Target) {
				names = append(names, n.Name)
			}
		}
	}
	return names
}

// each is the condition that holds for every pool.
func each(rollouts []clusterrules.Rollout, done func(poolProgress) bool) plan.Condition {
	return func(s cluster.State) plan.Progress {
		whole := plan.Progress{Done: true}
		if p := s.Problem(cluster.Pools); p != nil {
			return plan.Progress{Text: "machine config pools could not be read: " + p.Err}
		}
		var texts []string
		for _, r := range rollouts {
			p := progressOf(s, r)
			whole.Done = whole.Done && done(p)
			whole.Bars = append(whole.Bars, plan.Bar{Name: r.Pool, Count: p.finished, Total: p.total})
			whole.Items = append(whole.Items, p.items...)
			texts = append(texts, r.Pool+": "+p.text)
			if p.stuck != nil {
				whole.AddObstacle(*p.stuck)
			}
		}
		if whole.Done {
			whole.Stuck = nil
		}
		whole.Text = strings.Join(texts, "; ")
		return whole
	}
}

// poolProgress is the progress of the rollout of one pool.
type poolProgress struct {
	rendered bool // the pool's target is the new configuration
	done     bool
	started  int // nodes that were told to take it, finished ones included
	finished int
	total    int
	text     string
	items    []plan.Item
	stuck    *check.Obstacle
}

// progressOf judges one rollout.
func progressOf(s cluster.State, r clusterrules.Rollout) poolProgress {
	p, ok := s.Pool(r.Pool)
	if !ok {
		return poolProgress{text: "the pool was deleted", stuck: r.NoPool()}
	}
	nodes := s.NodesOf(p.Name)
	progress := poolProgress{rendered: r.Reached(p.Target, p.TargetSources), total: len(nodes)}
	for _, n := range nodes {
		item := plan.Item{Name: n.Name, State: plan.Waiting}
		if progress.rendered {
			item = nodeItem(n, p.Target)
			if n.MachineConfig.Desired == p.Target {
				progress.started++
			}
		}
		if item.Done {
			progress.finished++
		}
		progress.items = append(progress.items, item)
	}
	if !s.Knows(cluster.Nodes) {
		progress.total = p.Machines
		if progress.rendered {
			progress.finished = p.Updated
		}
	}
	progress.done = progress.rendered && settled(p, r) && !slices.ContainsFunc(nodes, returning)
	progress.text = progress.say(p)
	if !progress.done {
		progress.stuck = r.Blocker(p, nodes)
	}
	return progress
}

// settled reports whether the pool says of the new configuration that all its nodes have it. The counters of the node
// controller are compared with each other and its observation with the pool's generation, so that old ones do not
// count.
func settled(p cluster.Pool, r clusterrules.Rollout) bool {
	return p.Target == p.Current && r.Reached(p.Current, p.CurrentSources) && p.Observed >= p.Generation &&
		p.Condition("Updated").Status == "True" && p.Updated == p.Machines && p.Ready == p.Machines && p.Degraded == 0
}

func (p poolProgress) say(pool cluster.Pool) string {
	switch {
	case p.done && p.total > 1:
		return fmt.Sprintf("all %d nodes done", p.total)
	case !p.rendered:
		return "waiting for the machine-config-operator to render the new configuration"
	case pool.Paused && p.started == p.finished:
		return fmt.Sprintf("paused, %d of %s done", p.finished, words.Count(p.total, "node"))
	}
	return fmt.Sprintf("%d of %s done", p.finished, words.Count(p.total, "node"))
}

// finished reports whether a node has a configuration and is back at work, as the pool counts it
// (machine-config-operator pkg/controller/node/status.go getReadyMachines).
func finished(n cluster.Node, target string) bool {
	c := n.MachineConfig
	return target != "" && c.Current == target && c.Desired == target && c.State == "Done" && n.Ready && !n.Unschedulable && !returning(n)
}

// returning reports whether a node is Ready again and still bears the taint of one that is not, which the node
// lifecycle controller takes off some seconds later: until then no pod comes to it.
func returning(n cluster.Node) bool {
	return n.Ready && slices.ContainsFunc(
		n.Taints, func(t cluster.Taint) bool { return t.Key == taintNotReady || t.Key == taintUnreachable },
	)
}

// Taints of the node lifecycle controller (k8s.io/api/core/v1 well_known_taints.go).
const (
	taintNotReady    = "node.kubernetes.io/not-ready"
	taintUnreachable = "node.kubernetes.io/unreachable"
)

// nodeItem is one node on its way to a configuration.
func nodeItem(n cluster.Node, target string) plan.Item {
	c := n.MachineConfig
	item := plan.Item{Name: n.Name, State: cmp.Or(c.State, plan.Waiting)}
	switch {
	case n.MachineConfig.Failed() && c.Desired != target && n.Unschedulable:
		item.Note = strings.TrimSuffix(
			"cordoned: 'oc adm uncordon "+n.Name+"' lets it take the configuration; "+c.Reason, "; ",
		)
	case n.MachineConfig.Failed():
		item.Note = c.Reason
	case finished(n, target):
		item.State, item.Done = "Done", true
	case c.Desired != target:
		item.State, item.Note = plan.Waiting, whyAway(n)
	case !n.Ready:
		item.State, item.Note = "Rebooting", n.NotReady
	case c.Current == target:
		item.Note = whyAway(n)
	case c.State == "Done": // told, and the daemon has not begun
		item.State = "Working"
	}
	return item
}

// whyAway says why a node counts as unavailable for the rollout.
func whyAway(n cluster.Node) string {
	switch {
	case n.Unschedulable:
		return "cordoned"
	case !n.Ready:
		return strings.TrimSuffix("not Ready: "+n.NotReady, ": ")
	case returning(n):
		return "the taint of a node that is not ready goes in a moment"
	}
	return ""
}
