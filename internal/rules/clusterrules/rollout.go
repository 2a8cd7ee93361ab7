package clusterrules

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
)

const (
	// DaemonPatience is the time that a node's daemon, or a person, has to repair a node. The machine-config-daemon
	// calls it Degraded at the first error of any sync, tries again at least every minute (machine-config-operator
	// pkg/daemon/daemon.go handleErr), and clears the state only when all is done.
	DaemonPatience = 10 * time.Minute
	// renderPatience is the time for a controller that reports its state again within seconds.
	renderPatience = 2 * time.Minute
)

// Rollout is a change of a pool's configuration.
type Rollout struct {
	Pool    string
	With    []string // MachineConfigs that it adds
	Without []string // MachineConfigs that it removes
	From    string   // rendered configuration that it replaces; "" if With and Without tell the two apart
}

// Reached reports whether a rendered configuration, made of the sources, is the rollout's.
func (r Rollout) Reached(rendered string, sources []string) bool {
	missing := func(name string) bool { return !slices.Contains(sources, name) }
	unwanted := func(name string) bool { return slices.Contains(sources, name) }
	return rendered != "" && rendered != r.From &&
		!slices.ContainsFunc(r.With, missing) && !slices.ContainsFunc(r.Without, unwanted)
}

// Blocker returns why a rollout does not progress by itself; nil if it may.
func (r Rollout) Blocker(p cluster.Pool, nodes []cluster.Node) *check.Obstacle {
	if o := r.RenderBlocker(p); o != nil {
		return o
	}
	rendered := r.Reached(p.Target, p.TargetSources)
	for _, n := range nodes {
		// a node that has not been told yet failed at another configuration, and one that is not Ready reboots
		if c := n.MachineConfig; rendered && c.Failed() && c.Desired == p.Target && n.Ready {
			return r.failedNode(n)
		}
	}
	if c := p.Condition("NodeDegraded"); len(nodes) == 0 && c.Status == "True" {
		return r.degraded(p, c, DaemonPatience, r.fix("Read the state of the nodes."))
	}
	if p.Paused && !p.InSetup() {
		return r.blocked("someone paused it", DaemonPatience, resumePool(p), pausedEvidence(p))
	}
	if !rendered || p.Paused {
		return nil
	}
	return r.cordoned(p, nodes)
}

// RenderBlocker returns why no configuration can be rendered from the pool's MachineConfigs.
func (r Rollout) RenderBlocker(p cluster.Pool) *check.Obstacle {
	c := p.Condition("RenderDegraded")
	if c.Status != "True" {
		return nil
	}
	fix := r.fix("Correct or delete the MachineConfig that is named.", "oc describe machineconfigpool "+p.Name)
	return r.degraded(p, c, renderPatience, fix)
}

// NoPool returns that the rollout's pool was deleted.
func (r Rollout) NoPool() *check.Obstacle {
	evidence := check.Observed("MachineConfigPool/"+r.Pool, "not found", "the pool")
	return r.blocked("the pool was deleted", 0, nil, evidence)
}

// fix returns a fix for a rollout that may be to blame itself, unless it restores the configuration from before.
func (r Rollout) fix(text string, commands ...string) *check.Fix {
	f := check.ByAdmin(text, commands...)
	if len(r.With) == 0 {
		f.Text += " The configuration from before the setup is not to blame."
		return f
	}
	f.Text += " If the new configuration is to blame, undo it."
	f.Commands = slices.Concat(commands, []string{"railhead setup rollback"})
	return f
}

func (r Rollout) degraded(p cluster.Pool, c cluster.Condition, patience time.Duration, fix *check.Fix) *check.Obstacle {
	return r.blocked(c.Type+": "+c.Why(), patience, fix, degradedEvidence(p, c))
}

// cordoned returns cordoned nodes that block the rollout. They count as unavailable, and no other node is updated while
// they use up maxUnavailable. They are given no other configuration either, also if they failed at one that is to go
// (machine-config-operator pkg/controller/node: status.go isNodeUnavailable, node_controller.go
// getAllCandidateMachines).
func (r Rollout) cordoned(p cluster.Pool, nodes []cluster.Node) *check.Obstacle {
	var names []string
	var reasons []check.Evidence
	waiting, draining := 0, false
	for _, n := range nodes {
		switch c := n.MachineConfig; {
		case updating(n):
			return nil
		case n.Unschedulable:
			names = append(names, n.Name)
			if c.Failed() {
				reasons = append(reasons, check.Evidence{Source: reasonOf(n), Got: c.Reason})
				draining = draining || drainFailed.in(c.Reason)
			}
		case c.Desired != p.Target:
			waiting++
		}
	}
	room := cluster.AtOnce(p.MaxUnavailable, len(nodes))
	if len(names) == 0 || (waiting > 0 && len(names) < room) {
		return nil
	}
	fix := check.ByAdmin("Uncordon them: a cordoned node gets no other configuration.",
		"oc adm uncordon "+strings.Join(names, " "))
	if draining {
		fix.Text += " Also delete the pods that cannot be evicted."
		fix.Commands = append(fix.Commands, "oc get poddisruptionbudgets -A")
	}
	all := strings.Join(names, ", ")
	evidence := append(check.Observed("nodes cordoned", all, "none"), reasons...)
	return r.blocked("it waits for cordoned nodes: "+all, DaemonPatience, fix, evidence)
}

// updating reports whether a node's daemon is at work, or the node may become Ready by itself.
func updating(n cluster.Node) bool {
	c := n.MachineConfig
	if n.Ready && c.Failed() {
		return false
	}
	idle := c.Current == c.Desired && c.State == "Done"
	return !idle || (!n.Ready && !n.Unschedulable)
}

func reasonOf(n cluster.Node) string {
	return "node/" + n.Name + " annotation machineconfiguration.openshift.io/reason"
}

// daemonWords are parts of the reasons that the machine-config-daemon writes (machine-config-operator pkg/daemon).
type daemonWords []string

var (
	// Such as "failed to drain node: gpu-1 after 1 hour".
	drainFailed = daemonWords{"drain"}
	// Such as "content mismatch for file /etc/x".
	fileChanged = daemonWords{"unexpected on-disk state", "content mismatch"}
)

func (w daemonWords) in(reason string) bool {
	return slices.ContainsFunc(w, func(part string) bool { return strings.Contains(reason, part) })
}

// failedNode returns why the machine-config-daemon of a node failed.
func (r Rollout) failedNode(n cluster.Node) *check.Obstacle {
	reason := cmp.Or(n.MachineConfig.Reason, "it gives no reason")
	fix := r.fix("Read the log of the node's machine-config-daemon.",
		"oc -n openshift-machine-config-operator get pods -l k8s-app=machine-config-daemon --field-selector "+
			"spec.nodeName="+n.Name)
	switch {
	case drainFailed.in(reason):
		fix.Text = "A pod cannot be evicted because its PodDisruptionBudget allows no disruption. Move or delete " +
			"that pod, or let its budget allow one."
		fix.Commands = []string{
			"oc get poddisruptionbudgets -A",
			"oc get pods -A --field-selector spec.nodeName=" + n.Name,
		}
	case fileChanged.in(reason):
		fix.Text = "A file on the node was changed by hand. Restore it, or let the daemon overwrite it."
		fix.Commands = []string{"oc debug node/" + n.Name + " -- touch /host/run/machine-config-daemon-force"}
	}
	patience := DaemonPatience
	if n.MachineConfig.State == "Unreconcilable" {
		patience = renderPatience // this error does not pass, but it may still be about another configuration
	}
	why := fmt.Sprintf("node %s is %s: %s", n.Name, n.MachineConfig.State, reason)
	o := r.blocked(why, patience, fix, []check.Evidence{{Source: reasonOf(n), Got: reason}})
	o.About = []check.Ref{o.Subject}
	o.Subject = check.NodeRef(n.Name)
	return o
}

func (r Rollout) blocked(
	why string, patience time.Duration, fix *check.Fix, evidence []check.Evidence,
) *check.Obstacle {
	return &check.Obstacle{Patience: patience, Finding: check.Finding{
		Check: RolloutProgress, Status: check.Fail, Subject: check.Named(check.Pool, r.Pool),
		Summary:  fmt.Sprintf("the rollout of pool %s is blocked: %s", r.Pool, why),
		Evidence: evidence,
		Fix:      fix,
	}}
}
