package setup

import (
	"fmt"
	"slices"
	"time"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	clusterrules "github.com/railhead/railhead/internal/rules/cluster"
	"github.com/railhead/railhead/internal/words"
)

// rolloutSteps pause the pools, write the MachineConfigs and let the nodes go, so that each reboots once.
func (b *setup) rolloutSteps() []plan.Step {
	held := b.held()
	if len(held) == 0 {
		b.running()
		return nil
	}
	for i, h := range held {
		if h.Written {
			b.judge(h.Pool, h.Nodes)
		} else {
			b.resumed(h)
		}
		held[i].First = (b.o.VerifyFirst || h.Pool.VerifiesFirst()) && len(h.Nodes) > 0 && !h.complete(b.s)
	}
	steps := pauseStep(held)
	steps = append(steps, b.writeStep(held))
	steps = append(steps, firstSteps(held)...)
	b.estimate(held)
	return append(steps, resumeStep(held))
}

// held are the pools that the written MachineConfigs reach, and those that an earlier run left paused.
func (b *setup) held() []hold {
	var held []hold
	pools := slices.Clone(b.s.Pools)
	slices.SortFunc(pools, byName)
	for _, p := range pools {
		h := hold{
			Pool:    p,
			Rollout: clusterrules.Rollout{Pool: p.Name, From: p.Annotations[cluster.AnnotationFrom]},
			Nodes:   b.s.NodesOf(p.Name),
		}
		for _, m := range plan.SelectedConfigs(p, b.configs) {
			if madeBySetup(m.Labels) {
				h.With = append(h.With, m.Name)
			}
		}
		for _, w := range b.writes {
			if slices.Contains(h.With, w.Name) {
				h.Written = true
				if w.Replaces && slices.Contains(p.TargetSources, w.Name) {
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

// running notes that the configuration is still being rolled out.
func (b *setup) running() {
	if !b.setsNodes() {
		return
	}
	for _, p := range b.s.Pools {
		ours := slices.ContainsFunc(
			plan.SelectedConfigs(p, b.configs), func(m cluster.MachineConfig) bool { return madeBySetup(m.Labels) },
		)
		if nodes := b.s.NodesOf(p.Name); ours && p.Rolling(nodes) {
			b.notes = append(b.notes, rollingNote(p, nodes))
		}
	}
}

func rollingNote(p cluster.Pool, nodes []cluster.Node) string {
	return fmt.Sprintf(
		"Pool %s is still being rolled out: %d of %d nodes are done. Follow it with `railhead setup status --follow`.",
		p.Name, len(p.UpToDate(nodes)), len(nodes),
	)
}

// resumed says that an earlier run is completed.
func (b *setup) resumed(h hold) {
	b.note("An earlier run left pool %s in its hands: it is completed.", h.Name)
	if c, bad := h.Pool.WhyDegraded(); bad {
		b.say(check.Finding{
			Check: clusterrules.PoolHealthy, Status: check.Warn, Subject: check.Named(check.Pool, h.Name),
			Summary: fmt.Sprintf("pool %s is degraded (%s): %s", h.Name, c.Type, c.Why()),
			Evidence: []check.Evidence{
				{Source: "MachineConfigPool/" + h.Name + " condition " + c.Type, Got: c.Why(), Want: "False"},
			},
			Fix: &check.Fix{
				Text:     "If the new configuration is to blame, take it back.",
				Commands: []string{"railhead setup rollback"},
				Who:      check.Admin,
			},
		})
	}
}

// writeStep writes the MachineConfigs, and is done when the pools' next configuration has them.
func (b *setup) writeStep(held []hold) plan.Step {
	pools := poolsInWords(holdNames(held))
	step := plan.Step{
		ID: "machine-configs", Title: "Wait until the configuration of " + pools + " is rendered",
		Done: TargetRendered(rollouts(held)...), Watch: []cluster.Kind{cluster.Pools},
	}
	if len(b.writes) > 0 {
		step.Title = fmt.Sprintf(
			"Write %s while %s %s paused", words.Count(len(b.writes), "MachineConfig"), pools, verb(len(held)),
		)
	}
	for _, w := range b.writes {
		step.Changes = append(step.Changes, plan.Change{
			Verb:   plan.Apply,
			Object: machineConfigObject(w.MachineConfig),
			Why:    w.Why,
		})
	}
	return step
}

func verb(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// estimate notes the duration of the rollout.
func (b *setup) estimate(held []hold) {
	for _, h := range held {
		if h.Written && !slices.Contains(b.targets, h.Name) {
			b.note(
				"Pool %s selects the MachineConfigs of %s, too: its nodes are set up with them.", h.Name,
				poolsInWords(b.targets),
			)
		}
		names := h.reboots()
		if len(names) == 0 {
			continue
		}
		b.note("%s", rebootNote(h, len(names), b.o.RebootTime))
		if h.Name == cluster.MasterPool {
			b.note(
				"The nodes of pool %s are the control plane: on a cluster of one node its API is away while the node reboots.",
				cluster.MasterPool,
			)
		}
	}
}

// Duration of a node's reboot with its drain: bare metal with several NICs and GPUs boots slowly. An assumption, and
// said as such.
const (
	rebootAtLeast = 10 * time.Minute
	rebootAtMost  = 15 * time.Minute
)

func rebootNote(h hold, nodes int, measured time.Duration) string {
	room := cluster.AtOnce(h.Pool.OwnMaxUnavailable(), len(h.Nodes))
	text := fmt.Sprintf("Pool %s: %s", h.Name, rebootTitle(nodes))
	if nodes > 1 {
		text += fmt.Sprintf(", %d at a time", room)
	}
	takes := func(each time.Duration) string {
		if h.First {
			return inHours(each + RolloutTime(nodes-1, room, each))
		}
		return inHours(RolloutTime(nodes, room, each))
	}
	if measured > 0 {
		return fmt.Sprintf("%s: about %s, at %s a node as measured.", text, takes(measured), inHours(measured))
	}
	return fmt.Sprintf(
		"%s: about %s to %s, an estimate of 10 to 15 minutes a node.", text, takes(rebootAtLeast),
		takes(rebootAtMost),
	)
}

// RolloutTime returns the time for the reboots of some nodes, atOnce at a time.
func RolloutTime(nodes, atOnce int, each time.Duration) time.Duration {
	if nodes <= 0 {
		return 0
	}
	rounds := (nodes + max(1, atOnce) - 1) / max(1, atOnce)
	return time.Duration(rounds) * each
}

// inHours is a duration in whole minutes: "45 min", "2 h 10 min".
func inHours(d time.Duration) string {
	minutes := max(1, int(d.Round(time.Minute)/time.Minute))
	switch {
	case minutes < 60:
		return fmt.Sprintf("%d min", minutes)
	case minutes%60 == 0:
		return fmt.Sprintf("%d h", minutes/60)
	}
	return fmt.Sprintf("%d h %d min", minutes/60, minutes%60)
}
