package plan

import (
	"fmt"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
)

// stuck says why a rollout does not get on by itself.
func stuck(p cluster.Pool, nodes []cluster.Node, progress poolProgress) *check.Finding {
	for _, n := range nodes {
		if state := n.MachineConfig.State; state == "Degraded" || state == "Unreconcilable" {
			return stuckNode(p, n)
		}
	}
	if c, bad := degraded(p); bad {
		return stuckAt(p.Name, fmt.Sprintf("%s: %s", c.Type, sayCondition(c)),
			check.Evidence{Source: "MachineConfigPool/" + p.Name + " condition " + c.Type, Got: sayCondition(c), Want: "False"},
			&check.Fix{Text: "If the new configuration is to blame, take it back.", Commands: []string{"railhead setup rollback"}})
	}
	if p.Paused && !inSetup(p) {
		return stuckAt(p.Name, "somebody paused it",
			check.Evidence{Source: "MachineConfigPool/" + p.Name + " spec.paused", Got: "true", Want: "false"},
			&check.Fix{Text: "Find out who paused it and why; resume it when they agree.", Commands: []string{
				fmt.Sprintf(`oc patch machineconfigpool %s --type=merge -p '{"spec":{"paused":false}}'`, p.Name),
			}})
	}
	return stuckBehindCordon(p, nodes, progress)
}

// stuckBehindCordon: nodes that somebody cordoned count as unavailable, and no other is taken while they use up
// maxUnavailable; nor is the pool ever done with them (machine-config-operator pkg/controller/node/status.go
// isNodeUnavailable). Nodes that the rollout itself cordons are on their way.
func stuckBehindCordon(p cluster.Pool, nodes []cluster.Node, progress poolProgress) *check.Finding {
	if !progress.rendered || p.Paused {
		return nil
	}
	var cordoned []string
	for _, n := range nodes {
		c := n.MachineConfig
		resting := c.Desired != p.Target || (c.Current == p.Target && c.State == "Done")
		switch {
		case !resting || (!n.Ready && !n.Unschedulable):
			return nil // on its way, or may come back by itself
		case n.Unschedulable:
			cordoned = append(cordoned, n.Name)
		}
	}
	waits := progress.total - progress.started
	if len(cordoned) == 0 || (waits > 0 && len(cordoned) < atOnce(p.MaxUnavailable, len(nodes))) {
		return nil
	}
	return stuckAt(p.Name, isAre(cordoned)+" cordoned, and the rollout waits for that",
		check.Evidence{Source: "nodes cordoned", Got: strings.Join(cordoned, ", "), Want: "none"},
		&check.Fix{Text: "Let pods on them again.", Commands: []string{"oc adm uncordon " + strings.Join(cordoned, " ")}})
}

// stuckNode says what the machine-config-daemon of a node says, and what helps.
func stuckNode(p cluster.Pool, n cluster.Node) *check.Finding {
	reason := orDefault(n.MachineConfig.Reason, "it gives no reason")
	fix := &check.Fix{
		Text: "Read what the machine-config-daemon of the node says. If the new configuration is to blame, take it back.",
		Commands: []string{
			"oc -n openshift-machine-config-operator get pods -l k8s-app=machine-config-daemon --field-selector spec.nodeName=" + n.Name,
			"railhead setup rollback",
		},
	}
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
	f := stuckAt(p.Name, fmt.Sprintf("node %s is %s: %s", n.Name, n.MachineConfig.State, reason), check.Evidence{
		Source: "node/" + n.Name + " annotation machineconfiguration.openshift.io/reason", Got: reason, Want: "",
	}, fix)
	f.Subject = check.Subject("node/" + n.Name)
	return f
}

func stuckAt(pool, what string, e check.Evidence, fix *check.Fix) *check.Finding {
	if fix != nil {
		fix.Who = check.Admin
	}
	return &check.Finding{
		Check: RolloutProgress, Status: check.Fail, Subject: check.Subject("pool/" + pool),
		Summary:  fmt.Sprintf("the rollout of pool %s does not get on: %s", pool, what),
		Evidence: []check.Evidence{e}, Fix: fix,
	}
}
