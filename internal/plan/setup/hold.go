package setup

import (
	"fmt"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/rules/clusterrules"
)

// StepVerifyFirst is the ID of a step that writes nothing: the caller checks FirstNodes there and continues only if no
// finding is a fault.
const StepVerifyFirst = "verify-first"

// heldPool is a pool that is paused while its configuration changes, so that its nodes reboot once.
type heldPool struct {
	cluster.Pool
	clusterrules.Rollout
	Nodes    []cluster.Node
	Written  bool // this plan changes its configuration; otherwise an earlier run was interrupted
	First    bool // one node is updated and checked before the others
	Restored bool // the configuration becomes the one that all nodes had before
}

// paused reports whether setup has already paused the pool.
func (h heldPool) paused() bool { return h.Paused && h.Pool.InSetup() }

// pending reports whether the new configuration is not rendered yet.
func (h heldPool) pending() bool { return h.Written || !h.Rollout.Reached(h.Target, h.TargetSources) }

// started reports whether a node was told to take the configuration.
func (h heldPool) started() bool {
	told := func(n cluster.Node) bool { return n.MachineConfig.Desired == h.Target }
	return !h.pending() && slices.ContainsFunc(h.Nodes, told)
}

// reboots returns the nodes that the rollout reboots: before the new configuration is rendered, all but those that have
// not left the one to restore.
func (h heldPool) reboots() []string {
	var names []string
	for _, n := range h.Nodes {
		c := n.MachineConfig
		stays := c.Current == h.Target
		if h.pending() {
			stays = h.Restored && c.Current == h.Current && c.Desired == h.Current
		}
		if !stays {
			names = append(names, n.Name)
		}
	}
	return names
}

// patch is a merge patch of the pool.
func (h heldPool) patch(why string, annotations, spec map[string]any) plan.Change {
	return plan.Change{Verb: plan.Merge, Why: why, Object: unstructured.Unstructured{Object: map[string]any{
		"apiVersion": machineConfigVersion,
		"kind":       "MachineConfigPool",
		"metadata":   map[string]any{"name": h.Name, "annotations": annotations},
		"spec":       spec,
	}}}
}

// pause is the change that pauses the pool.
func (h heldPool) pause(why string) plan.Change {
	annotations := map[string]any{cluster.AnnotationPausedBy: cluster.PausedBySetup}
	if h.From != "" {
		annotations[cluster.AnnotationFrom] = h.From
	}
	return h.patch(why, annotations, map[string]any{"paused": true})
}

// startFirst is the change that lets one node take the new configuration.
func (h heldPool) startFirst() plan.Change {
	return h.patch("lets one node take the new configuration", map[string]any{
		cluster.AnnotationPausedBy:       cluster.PausedBySetup,
		cluster.AnnotationMaxUnavailable: h.Pool.OwnMaxUnavailable(),
	}, map[string]any{"paused": false, "maxUnavailable": int64(1)})
}

// resume is the change that lets the nodes take the new configuration and restores the pool's settings.
func (h heldPool) resume() plan.Change {
	annotations := map[string]any{cluster.AnnotationPausedBy: nil}
	spec := map[string]any{"paused": false}
	if h.From != "" || h.Annotations[cluster.AnnotationFrom] != "" {
		annotations[cluster.AnnotationFrom] = nil
	}
	if h.First || h.Pool.VerifiesFirst() {
		annotations[cluster.AnnotationMaxUnavailable] = nil
		spec["maxUnavailable"] = intOrPercent(h.Pool.OwnMaxUnavailable())
	}
	return h.patch("lets its nodes take the new configuration", annotations, spec)
}

// intOrPercent returns a maxUnavailable in the API's form; null if it was not set.
func intOrPercent(value string) any {
	if value == "" {
		return nil
	}
	if n, err := strconv.ParseInt(value, 10, 64); err == nil {
		return n
	}
	return value
}

// heldPools are in the order of their names.
type heldPools []heldPool

func (held heldPools) String() string {
	var names []string
	for _, h := range held {
		names = append(names, h.Name)
	}
	return poolNames(names)
}

func (held heldPools) rollouts() []clusterrules.Rollout {
	var rollouts []clusterrules.Rollout
	for _, h := range held {
		rollouts = append(rollouts, h.Rollout)
	}
	return rollouts
}

// steps returns the steps of one rollout: the changes of the configuration are made while the pools are paused.
func (held heldPools) steps(title string, changes []plan.Change) []plan.Step {
	write := plan.Step{
		ID:      "machine-configs",
		Title:   fmt.Sprintf("Wait until the configuration of %s is rendered", held),
		Changes: changes,
		Done:    targetRendered(held.rollouts()...),
		Watch:   []cluster.Kind{cluster.Pools},
	}
	if len(changes) > 0 {
		write.Title = fmt.Sprintf("%s while %s %s paused", title, held, isAre(len(held)))
	}
	return slices.Concat(held.pauseStep(), []plan.Step{write}, held.firstSteps(), []plan.Step{held.resumeStep()})
}

// pauseStep pauses the pools whose configuration changes.
func (held heldPools) pauseStep() []plan.Step {
	var running heldPools
	var changes []plan.Change
	for _, h := range held {
		if h.Written && !h.paused() {
			running = append(running, h)
			changes = append(changes, h.pause("so that every node reboots only once"))
		}
	}
	if len(changes) == 0 {
		return nil
	}
	return []plan.Step{{ID: "pause", Title: "Pause " + running.String(), Changes: changes}}
}

// firstSteps update one node of each pool, pause the others, and ask for a check.
func (held heldPools) firstSteps() []plan.Step {
	first := slices.DeleteFunc(slices.Clone(held), func(h heldPool) bool { return !h.First })
	if len(first) == 0 {
		return nil
	}
	watch := []cluster.Kind{cluster.Pools, cluster.Nodes}
	start := plan.Step{
		ID:    "first-node",
		Title: fmt.Sprintf("Let one node of %s reboot", first),
		Done:  firstStarted(first.rollouts()...),
		Watch: watch,
	}
	pause := plan.Step{
		ID:    "hold",
		Title: fmt.Sprintf("Pause %s until that node is done", first),
		Done:  firstDone(first.rollouts()...),
		Watch: watch,
	}
	for _, h := range first {
		if !h.started() {
			start.Changes = append(start.Changes, h.startFirst())
		}
		if !h.started() || !h.paused() {
			change := h.pause("keeps the other nodes unchanged until the first one is checked")
			pause.Changes = append(pause.Changes, change)
		}
	}
	check := plan.Step{
		ID:    StepVerifyFirst,
		Title: fmt.Sprintf("Check the node of %s that has the new configuration", first),
		Watch: watch,
	}
	if len(start.Changes) == 0 {
		return []plan.Step{pause, check}
	}
	return []plan.Step{start, pause, check}
}

// resumeStep lets the nodes go, and is done when all have the configuration.
func (held heldPools) resumeStep() plan.Step {
	step := plan.Step{
		ID:    "rollout",
		Done:  RolloutDone(held.rollouts()...),
		Watch: []cluster.Kind{cluster.Pools, cluster.Nodes},
	}
	total := 0
	for _, h := range held {
		step.Changes = append(step.Changes, h.resume())
		if names := h.reboots(); len(names) > 0 {
			total += len(names)
			step.Disruption.RestartsPods = true
			step.Disruption.Reboots = append(step.Disruption.Reboots, plan.Reboot{
				Pool:   h.Name,
				Nodes:  names,
				AtOnce: cluster.AtOnce(h.Pool.OwnMaxUnavailable(), len(h.Nodes)),
			})
		}
	}
	step.Title = fmt.Sprintf("Resume %s: %s", held, nodesReboot(total))
	return step
}

func nodesReboot(nodes int) string {
	switch nodes {
	case 0:
		return "no node reboots"
	case 1:
		return "1 node reboots"
	}
	return fmt.Sprintf("%d nodes reboot, each once", nodes)
}
