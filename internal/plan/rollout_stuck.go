package plan

import (
	"fmt"
	"strings"
	"time"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
)

const (
	// daemonPatience is the patience with what a node's daemon, or a person, may still mend: the machine-config-daemon calls a
	// node Degraded at the first error of any sync and tries again at least every minute
	// (machine-config-operator pkg/daemon/daemon.go handleErr), and it takes the word back only when all is done.
	daemonPatience = 10 * time.Minute
	// renderPatience is that with what a controller says again within seconds where it is still so.
	renderPatience = 2 * time.Minute
)

// failing reports whether the daemon of a node could not bring it to its configuration so far.
func failing(n cluster.Node) bool {
	return n.MachineConfig.State == "Degraded" || n.MachineConfig.State == "Unreconcilable"
}

// stuck says why a rollout does not get on by itself.
func stuck(p cluster.Pool, r Rollout, nodes []cluster.Node, progress poolProgress) *cluster.Obstacle {
	if o := stuckRender(p, r); o != nil {
		return o
	}
	for _, n := range nodes {
		// one that is not told yet fails at another configuration, and one that is not Ready reboots
		if progress.rendered && failing(n) && n.MachineConfig.Desired == p.Target && n.Ready {
			return stuckNode(p, r, n)
		}
	}
	if c := p.Condition("NodeDegraded"); len(nodes) == 0 && c.Status == "True" {
		return stuckAt(p.Name, c.Type+": "+sayCondition(c), daemonPatience,
			check.Evidence{Source: "MachineConfigPool/" + p.Name + " condition " + c.Type, Got: sayCondition(c), Want: "False"}, r.blame("See what the nodes say."))
	}
	if p.Paused && !inSetup(p) {
		return stuckAt(p.Name, "somebody paused it", daemonPatience,
			check.Evidence{Source: "MachineConfigPool/" + p.Name + " spec.paused", Got: "true", Want: "false"},
			&check.Fix{Text: "Find out who paused it and why; resume it when they agree.", Commands: []string{
				fmt.Sprintf(`oc patch machineconfigpool %s --type=merge -p '{"spec":{"paused":false}}'`, p.Name),
			}})
	}
	return stuckBehindCordon(p, nodes, progress)
}

// stuckRender: no next configuration can be made of the pool's MachineConfigs.
func stuckRender(p cluster.Pool, r Rollout) *cluster.Obstacle {
	c := p.Condition("RenderDegraded")
	if c.Status != "True" {
		return nil
	}
	return stuckAt(p.Name, c.Type+": "+sayCondition(c), renderPatience,
		check.Evidence{Source: "MachineConfigPool/" + p.Name + " condition " + c.Type, Got: sayCondition(c), Want: "False"},
		r.blame("Correct or delete the MachineConfig that is named.", "oc describe machineconfigpool "+p.Name))
}

// blame is a fix; on the way there the new configuration may be to blame, on the way back it is not.
func (r Rollout) blame(text string, commands ...string) *check.Fix {
	if r.back() {
		return &check.Fix{Text: text + " The configuration is that from before the setup: it is not to blame.", Commands: commands}
	}
	return &check.Fix{Text: text + " If the new configuration is to blame, take it back.", Commands: append(commands, "railhead setup rollback")}
}

// stuckBehindCordon: nodes that are cordoned count as unavailable, and no other is taken while they use up maxUnavailable; nor
// is one of them told to take another configuration, also when it failed at one that is to go, or the pool ever done with them
// (machine-config-operator pkg/controller/node: status.go isNodeUnavailable, node_controller.go getAllCandidateMachines).
func stuckBehindCordon(p cluster.Pool, nodes []cluster.Node, progress poolProgress) *cluster.Obstacle {
	if !progress.rendered || p.Paused {
		return nil
	}
	var cordoned []string
	var evidence []check.Evidence
	free, draining := 0, false
	for _, n := range nodes {
		switch c := n.MachineConfig; {
		case onTheWay(n):
			return nil
		case n.Unschedulable:
			cordoned = append(cordoned, n.Name)
			if failing(n) {
				evidence = append(evidence, check.Evidence{Source: reasonOf(n), Got: c.Reason})
				draining = draining || strings.Contains(c.Reason, "drain")
			}
		case c.Desired != p.Target:
			free++
		}
	}
	if len(cordoned) == 0 || (free > 0 && len(cordoned) < atOnce(p.MaxUnavailable, len(nodes))) {
		return nil
	}
	fix := &check.Fix{Text: "Let pods on them again: a cordoned node is given no other configuration.", Commands: []string{"oc adm uncordon " + strings.Join(cordoned, " ")}}
	if draining {
		fix.Text += " A pod that cannot be evicted has to go beside."
		fix.Commands = append(fix.Commands, "oc get poddisruptionbudgets -A")
	}
	o := stuckAt(p.Name, isAre(cordoned)+" cordoned, and the rollout waits for that", daemonPatience,
		check.Evidence{Source: "nodes cordoned", Got: strings.Join(cordoned, ", "), Want: "none"}, fix)
	o.Evidence = append(o.Evidence, evidence...)
	return o
}

// onTheWay reports whether a node's daemon has something to do, or the node may come back by itself.
func onTheWay(n cluster.Node) bool {
	c := n.MachineConfig
	if n.Ready && failing(n) {
		return false
	}
	resting := c.Current == c.Desired && c.State == "Done"
	return !resting || (!n.Ready && !n.Unschedulable)
}

func reasonOf(n cluster.Node) string {
	return "node/" + n.Name + " annotation machineconfiguration.openshift.io/reason"
}

// stuckNode says what the machine-config-daemon of a node says, and what helps.
func stuckNode(p cluster.Pool, r Rollout, n cluster.Node) *cluster.Obstacle {
	reason := orDefault(n.MachineConfig.Reason, "it gives no reason")
	fix := r.blame("Read what the machine-config-daemon of the node says.",
		"oc -n openshift-machine-config-operator get pods -l k8s-app=machine-config-daemon --field-selector spec.nodeName="+n.Name)
	switch {
	case strings.Contains(reason, "drain"):
		fix.Text = "A pod cannot be evicted: a PodDisruptionBudget that allows no disruption keeps it. Move or delete that pod, or let its budget allow one."
		fix.Commands = []string{
			"oc get poddisruptionbudgets -A",
			"oc get pods -A --field-selector spec.nodeName=" + n.Name,
		}
	case strings.Contains(reason, "unexpected on-disk state") || strings.Contains(reason, "content mismatch"):
		fix.Text = "A file on the node was changed by hand. Put it back, or let the daemon overwrite it."
		fix.Commands = []string{"oc debug node/" + n.Name + " -- touch /host/run/machine-config-daemon-force"}
	}
	patience := daemonPatience
	if n.MachineConfig.State == "Unreconcilable" {
		patience = renderPatience // no error that passes, but it may still be about another configuration
	}
	o := stuckAt(p.Name, fmt.Sprintf("node %s is %s: %s", n.Name, n.MachineConfig.State, reason), patience, check.Evidence{Source: reasonOf(n), Got: reason}, fix)
	o.Subject = check.Subject("node/" + n.Name)
	return o
}

func poolGone(pool string) cluster.Obstacle {
	return *stuckAt(pool, "the pool is gone", 0, check.Evidence{Source: "MachineConfigPool/" + pool, Got: "not there", Want: "the pool that is rolled out"}, nil)
}

func stuckAt(pool, what string, patience time.Duration, e check.Evidence, fix *check.Fix) *cluster.Obstacle {
	if fix != nil {
		fix.Who = check.Admin
	}
	return &cluster.Obstacle{Patience: patience, Finding: check.Finding{
		Check: RolloutProgress, Status: check.Fail, Subject: check.Subject("pool/" + pool),
		Summary:  fmt.Sprintf("the rollout of pool %s does not get on: %s", pool, what),
		Evidence: []check.Evidence{e}, Fix: fix,
	}}
}
