package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/railhead/railhead/internal/cluster"
)

// Annotations of a pool that setup has in hand. They let a run that was broken off be completed: the pool is known to be paused
// by Railhead, and what its maxUnavailable was.
const (
	AnnotationPausedBy       = "railhead.dev/paused-by"
	AnnotationMaxUnavailable = "railhead.dev/max-unavailable" // what it was before the first node was let go; "" when it was not set
	AnnotationFrom           = "railhead.dev/from"            // rendered configuration that a changed MachineConfig leaves behind
)

const pausedBySetup = "setup"

// StepVerifyFirst is the ID of the step that writes nothing: whoever carries the plan out checks FirstNodes there, and goes on
// only when nothing is wrong.
const StepVerifyFirst = "verify-first"

// inSetup reports whether setup has the pool in hand.
func inSetup(p cluster.Pool) bool {
	return p.Annotations[AnnotationPausedBy] == pausedBySetup || verifying(p)
}

// verifying reports whether the pool's first node was let go to be checked.
func verifying(p cluster.Pool) bool {
	_, ok := p.Annotations[AnnotationMaxUnavailable]
	return ok
}

// maxUnavailable is the pool's own value, also while setup has another one in its place.
func maxUnavailable(p cluster.Pool) string {
	if before, ok := p.Annotations[AnnotationMaxUnavailable]; ok {
		return before
	}
	return p.MaxUnavailable
}

// hold is a pool that is paused while its configuration is changed, so that its nodes reboot once.
type hold struct {
	cluster.Pool
	Rollout
	Nodes   []cluster.Node
	Written bool // its configuration is changed by this plan; if not, an earlier run was broken off
	First   bool // one node is let go and checked before the others
}

// paused reports whether the pool is paused by setup already.
func (h hold) paused() bool { return h.Paused && inSetup(h.Pool) }

// complete reports whether all nodes have the configuration already.
func (h hold) complete(s cluster.State) bool {
	return !h.Written && progressOf(s, h.Rollout).done
}

// started reports whether a node has been told to take the configuration.
func (h hold) started() bool {
	return !h.Written && h.Rollout.reached(h.Target, h.TargetSources) &&
		slices.ContainsFunc(h.Nodes, func(n cluster.Node) bool { return n.MachineConfig.Desired == h.Target })
}

// reboots are the nodes that the rollout reboots: before the new configuration is rendered, all.
func (h hold) reboots() []string {
	pending := h.Written || !h.Rollout.reached(h.Target, h.TargetSources)
	var names []string
	for _, n := range h.Nodes {
		if pending || n.MachineConfig.Current != h.Target {
			names = append(names, n.Name)
		}
	}
	return names
}

func holdNames(held []hold) []string {
	names := make([]string, 0, len(held))
	for _, h := range held {
		names = append(names, h.Name)
	}
	slices.Sort(names)
	return names
}

func rollouts(held []hold) []Rollout {
	list := make([]Rollout, 0, len(held))
	for _, h := range held {
		list = append(list, h.Rollout)
	}
	return list
}

// patch is a merge patch of a pool.
func (h hold) patch(annotations, spec map[string]any, why string) Change {
	return Change{Verb: Merge, Why: why, Object: unstructured.Unstructured{Object: map[string]any{
		"apiVersion": machineConfigVersion, "kind": "MachineConfigPool",
		"metadata": map[string]any{"name": h.Name, "annotations": annotations},
		"spec":     spec,
	}}}
}

// pauseStep pauses the pools whose configuration is changed.
func pauseStep(held []hold) []Step {
	var pools []string
	var changes []Change
	for _, h := range held {
		if h.Written && !h.paused() {
			pools = append(pools, h.Name)
			annotations := map[string]any{AnnotationPausedBy: pausedBySetup}
			if h.From != "" {
				annotations[AnnotationFrom] = h.From
			}
			changes = append(changes, h.patch(annotations, map[string]any{"paused": true},
				"so that all changes come in one rollout and every node reboots once"))
		}
	}
	if len(changes) == 0 {
		return nil
	}
	slices.Sort(pools)
	return []Step{{ID: "pause", Title: "Pause " + poolsInWords(pools), Changes: changes}}
}

// resumeStep lets the nodes go, and is done when all have the configuration.
func resumeStep(held []hold) Step {
	step := Step{ID: "rollout", Done: RolloutDone(rollouts(held)...), Watch: []cluster.Kind{cluster.Pools, cluster.Nodes}}
	total := 0
	for _, h := range held {
		annotations := map[string]any{AnnotationPausedBy: nil}
		spec := map[string]any{"paused": false}
		if h.From != "" || h.Annotations[AnnotationFrom] != "" {
			annotations[AnnotationFrom] = nil
		}
		if h.First || verifying(h.Pool) {
			annotations[AnnotationMaxUnavailable] = nil
			spec["maxUnavailable"] = intOrPercent(maxUnavailable(h.Pool))
		}
		step.Changes = append(step.Changes, h.patch(annotations, spec, "lets its nodes take the new configuration"))
		if names := h.reboots(); len(names) > 0 {
			total += len(names)
			step.Disruption.RestartsPods = true
			step.Disruption.Reboots = append(step.Disruption.Reboots, Reboot{Pool: h.Name, Nodes: names, AtOnce: atOnce(maxUnavailable(h.Pool), len(h.Nodes))})
		}
	}
	step.Title = fmt.Sprintf("Resume %s: %s", poolsInWords(holdNames(held)), rebootTitle(total))
	return step
}

func rebootTitle(nodes int) string {
	switch nodes {
	case 0:
		return "no node reboots"
	case 1:
		return "1 node reboots"
	}
	return fmt.Sprintf("%d nodes reboot, each once", nodes)
}

// firstSteps let one node of each pool go, hold the others, and ask for a check.
func firstSteps(held []hold) []Step {
	first := slices.DeleteFunc(slices.Clone(held), func(h hold) bool { return !h.First })
	if len(first) == 0 {
		return nil
	}
	pools := poolsInWords(holdNames(first))
	watch := []cluster.Kind{cluster.Pools, cluster.Nodes}
	let := Step{ID: "first-node", Title: "Let one node of " + pools + " reboot", Done: FirstStarted(rollouts(first)...), Watch: watch}
	stop := Step{ID: "hold", Title: "Pause " + pools + " until that node is done", Done: FirstDone(rollouts(first)...), Watch: watch}
	for _, h := range first {
		if !h.started() {
			let.Changes = append(let.Changes, h.patch(
				map[string]any{AnnotationPausedBy: pausedBySetup, AnnotationMaxUnavailable: maxUnavailable(h.Pool)},
				map[string]any{"paused": false, "maxUnavailable": int64(1)}, "lets one node take the new configuration"))
		}
		if !h.started() || !h.paused() {
			stop.Changes = append(stop.Changes, h.patch(map[string]any{AnnotationPausedBy: pausedBySetup}, map[string]any{"paused": true},
				"keeps the other nodes as they are until the first is checked"))
		}
	}
	var steps []Step
	if len(let.Changes) > 0 {
		steps = append(steps, let)
	}
	return append(steps, stop, Step{ID: StepVerifyFirst, Title: "Check the node of " + pools + " that has the new configuration", Watch: watch})
}

// intOrPercent is a maxUnavailable as the API has it; null when it was not set.
func intOrPercent(value string) any {
	if value == "" {
		return nil
	}
	if n, err := strconv.ParseInt(value, 10, 64); err == nil {
		return n
	}
	return value
}

// byName orders pools.
func byName(a, b cluster.Pool) int { return cmp.Compare(a.Name, b.Name) }
