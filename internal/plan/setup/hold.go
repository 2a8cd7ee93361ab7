package setup

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	clusterrules "github.com/railhead/railhead/internal/rules/cluster"
)

// StepVerifyFirst is the ID of the step that writes nothing: whoever carries the plan out checks FirstNodes there, and
// goes on only when nothing is wrong.
const StepVerifyFirst = "verify-first"

// hold is a pool that is paused while its configuration is changed, so that its nodes reboot once.
type hold struct {
	cluster.Pool
	clusterrules.Rollout
	Nodes   []cluster.Node
	Written bool // its configuration is changed by this plan; if not, an earlier run was broken off
	First   bool // one node is let go and checked before the others
}

// paused reports whether the pool is paused by setup already.
func (h hold) paused() bool { return h.Paused && h.Pool.InSetup() }

// complete reports whether all nodes have the configuration already.
func (h hold) complete(s cluster.State) bool {
	return !h.Written && progressOf(s, h.Rollout).done
}

// started reports whether a node has been told to take the configuration.
func (h hold) started() bool {
	return !h.Written && h.Rollout.Reached(h.Target, h.TargetSources) &&
		slices.ContainsFunc(h.Nodes, func(n cluster.Node) bool { return n.MachineConfig.Desired == h.Target })
}

// reboots are the nodes that the rollout reboots: before the new configuration is rendered, all.
func (h hold) reboots() []string {
	pending := h.Written || !h.Rollout.Reached(h.Target, h.TargetSources)
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

func rollouts(held []hold) []clusterrules.Rollout {
	list := make([]clusterrules.Rollout, 0, len(held))
	for _, h := range held {
		list = append(list, h.Rollout)
	}
	return list
}

// patch is a merge patch of a pool.
func (h hold) patch(annotations, spec map[string]any, why string) plan.Change {
	return plan.Change{Verb: plan.Merge, Why: why, Object: unstructured.Unstructured{Object: map[string]any{
		"apiVersion": machineConfigVersion, "kind": "MachineConfigPool",
		"metadata": map[string]any{"name": h.Name, "annotations": annotations},
		"spec":     spec,
	}}}
}

// pauseStep pauses the pools whose configuration is changed.
func pauseStep(held []hold) []plan.Step {
	var pools []string
	var changes []plan.Change
	for _, h := range held {
		if h.Written && !h.paused() {
			pools = append(pools, h.Name)
			annotations := map[string]any{cluster.AnnotationPausedBy: cluster.PausedBySetup}
			if h.From != "" {
				annotations[cluster.AnnotationFrom] = h.From
			}
			changes = append(changes, h.patch(annotations, map[string]any{"paused": true},
				"so that all changes come in one rollout and every node reboots once"))
		}
	}
	if len(changes) == 0 {
		return nil
	}
	slices.Sort(pools)
	return []plan.Step{{ID: "pause", Title: "Pause " + poolsInWords(pools), Changes: changes}}
}

// resumeStep lets the nodes go, and is done when all have the configuration.
func resumeStep(held []hold) plan.Step {
	step := plan.Step{
		ID:    "rollout",
		Done:  RolloutDone(rollouts(held)...),
		Watch: []cluster.Kind{cluster.Pools, cluster.Nodes},
	}
	total := 0
	for _, h := range held {
		annotations := map[string]any{cluster.AnnotationPausedBy: nil}
		spec := map[string]any{"paused": false}
		if h.From != "" || h.Annotations[cluster.AnnotationFrom] != "" {
			annotations[cluster.AnnotationFrom] = nil
		}
		if h.First || h.Pool.VerifiesFirst() {
			annotations[cluster.AnnotationMaxUnavailable] = nil
			spec["maxUnavailable"] = intOrPercent(h.Pool.OwnMaxUnavailable())
		}
		step.Changes = append(step.Changes, h.patch(annotations, spec, "lets its nodes take the new configuration"))
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
func firstSteps(held []hold) []plan.Step {
	first := slices.DeleteFunc(slices.Clone(held), func(h hold) bool { return !h.First })
	if len(first) == 0 {
		return nil
	}
	pools := poolsInWords(holdNames(first))
	watch := []cluster.Kind{cluster.Pools, cluster.Nodes}
	let := plan.Step{
		ID:    "first-node",
		Title: "Let one node of " + pools + " reboot",
		Done:  FirstStarted(rollouts(first)...),
		Watch: watch,
	}
	stop := plan.Step{
		ID:    "hold",
		Title: "Pause " + pools + " until that node is done",
		Done:  FirstDone(rollouts(first)...),
		Watch: watch,
	}
	for _, h := range first {
		if !h.started() {
			let.Changes = append(let.Changes, h.patch(
				map[string]any{
					cluster.AnnotationPausedBy:       cluster.PausedBySetup,
					cluster.AnnotationMaxUnavailable: h.Pool.OwnMaxUnavailable(),
				},
				map[string]any{
					"paused":         false,
					"maxUnavailable": int64(1),
				}, "lets one node take the new configuration"))
		}
		if !h.started() || !h.paused() {
			stop.Changes = append(stop.Changes, h.patch(map[string]any{
				cluster.AnnotationPausedBy: cluster.PausedBySetup,
			}, map[string]any{"paused": true},
				"keeps the other nodes as they are until the first is checked"))
		}
	}
	var steps []plan.Step
	if len(let.Changes) > 0 {
		steps = append(steps, let)
	}
	return append(steps, stop, plan.Step{
		ID:    StepVerifyFirst,
		Title: "Check the node of " + pools + " that has the new configuration",
		Watch: watch,
	})
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
