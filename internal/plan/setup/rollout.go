package setup

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/rules/clusterrules"
	"github.com/railhead/railhead/internal/words"
)

// RolloutDone is done when every node of the pools has the configuration. The pool's condition Updated counts only for
// the new one: right after a MachineConfig is written, the pool is still Updated with the old one.
func RolloutDone(rollouts ...clusterrules.Rollout) plan.Condition {
	return each(rollouts, func(p poolProgress) bool { return p.done })
}

// targetRendered is done when the pools' next configuration has the MachineConfigs. Pools that are paused or have
// degraded nodes get that far.
func targetRendered(rollouts ...clusterrules.Rollout) plan.Condition {
	rendered := each(rollouts, func(p poolProgress) bool { return p.rendered })
	return func(s cluster.State) plan.Progress {
		p := rendered(s)
		if p.Done {
			p.Text = "the new configuration is rendered"
		}
		p.Bars, p.Items, p.Stuck = nil, nil, nil // the nodes are not concerned yet
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

// firstStarted is done when a node of every pool was told to take the configuration.
func firstStarted(rollouts ...clusterrules.Rollout) plan.Condition {
	return each(rollouts, func(p poolProgress) bool { return p.rendered && p.started > 0 })
}

// firstDone is done when a node of every pool has the configuration and is ready.
func firstDone(rollouts ...clusterrules.Rollout) plan.Condition {
	return each(rollouts, func(p poolProgress) bool { return p.rendered && p.finished > 0 })
}

// FirstNodes returns the nodes that have the new configuration when a plan's StepVerifyFirst is reached.
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

// each returns the condition that is done when every pool is.
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
			whole.Bars = append(whole.Bars, plan.Bar{Name: r.Pool, Count: p.finished, Total: p.total, Text: p.text})
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
	progress.done = progress.rendered && settled(p, r) && !slices.ContainsFunc(nodes, tainted)
	progress.text = progress.describe(p)
	if !progress.done {
		progress.stuck = r.Blocker(p, nodes)
	}
	return progress
}

// settled reports whether the pool's status says that all nodes have the new configuration. Comparing the counters with
// each other, and the observed generation with the pool's, excludes an old status.
func settled(p cluster.Pool, r clusterrules.Rollout) bool {
	return p.Target == p.Current && r.Reached(p.Current, p.CurrentSources) && p.Observed >= p.Generation &&
		p.Condition("Updated").Status == "True" && p.Updated == p.Machines && p.Ready == p.Machines && p.Degraded == 0
}

func (p poolProgress) describe(pool cluster.Pool) string {
	count := fmt.Sprintf("%d of %s done", p.finished, words.Count(p.total, "node"))
	switch {
	case p.done && p.total > 1:
		return fmt.Sprintf("all %d nodes done", p.total)
	case !p.rendered:
		return "waiting for the machine-config-operator to render the new configuration"
	case pool.Paused && p.started == p.finished:
		return "paused, " + count
	}
	return count
}

// finished reports whether a node has a configuration and is back at work, as the pool counts it
// (machine-config-operator pkg/controller/node/status.go getReadyMachines).
func finished(n cluster.Node, target string) bool {
	c := n.MachineConfig
	updated := target != "" && c.Current == target && c.Desired == target && c.State == "Done"
	return updated && n.Ready && !n.Unschedulable && !tainted(n)
}

// tainted reports whether a node is Ready again but keeps the taint of one that is not. The node lifecycle controller
// removes it some seconds later (k8s.io/api/core/v1 well_known_taints.go); until then no pod is scheduled to the node.
func tainted(n cluster.Node) bool {
	return n.Ready && slices.ContainsFunc(n.Taints, func(t cluster.Taint) bool {
		return t.Key == corev1.TaintNodeNotReady || t.Key == corev1.TaintNodeUnreachable
	})
}

// nodeItem returns the progress of one node to a configuration.
func nodeItem(n cluster.Node, target string) plan.Item {
	c := n.MachineConfig
	item := plan.Item{Name: n.Name, State: cmp.Or(c.State, plan.Waiting)}
	switch {
	case c.Failed() && c.Desired != target && n.Unschedulable:
		note := "cordoned: 'oc adm uncordon " + n.Name + "' lets it take the configuration; " + c.Reason
		item.Note = strings.TrimSuffix(note, "; ")
	case c.Failed():
		item.Note = c.Reason
	case finished(n, target):
		item.State, item.Done = "Done", true
	case c.Desired != target:
		item.State, item.Note = plan.Waiting, whyUnavailable(n)
	case !n.Ready:
		item.State, item.Note = "Rebooting", n.NotReady
	case c.Current == target:
		item.Note = whyUnavailable(n)
	case c.State == "Done": // told, but the daemon has not started
		item.State = "Working"
	}
	return item
}

// whyUnavailable says why a node counts as unavailable for the rollout.
func whyUnavailable(n cluster.Node) string {
	switch {
	case n.Unschedulable:
		return "cordoned"
	case !n.Ready:
		return strings.TrimSuffix("not Ready: "+n.NotReady, ": ")
	case tainted(n):
		return "Ready; its not-ready taint is about to be removed"
	}
	return ""
}
