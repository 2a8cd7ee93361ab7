package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
)

// noPool says that a pool is not there, and which are.
func noPool(s cluster.State, name string) check.Finding {
	var names []string
	for _, p := range s.Pools {
		names = append(names, p.Name)
	}
	slices.Sort(names)
	return check.Finding{
		Check: PoolExists, Status: check.Fail, Subject: check.Subject("pool/" + name),
		Summary:  fmt.Sprintf("there is no machine config pool %s: the cluster has %s", name, orNone(inWords(names))),
		Evidence: []check.Evidence{{Source: "machineconfigpools", Got: orNone(strings.Join(names, ", ")), Want: name}},
		Fix:      &check.Fix{Text: "Name a pool that exists.", Commands: []string{"oc get machineconfigpools", "railhead setup cluster --pool NAME"}, Who: check.Admin},
	}
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

// stray says that nodes with RDMA NICs or GPUs are in no pool.
func stray(nodes []string) check.Finding {
	return check.Finding{
		Check: PoolNodes, Status: check.Warn, Subject: "nodes",
		Summary:  fmt.Sprintf("%s in no machine config pool, or in two custom ones, and not set up", isAre(nodes)),
		Evidence: []check.Evidence{{Source: "nodes outside pools", Got: strings.Join(nodes, ", "), Want: "each selected by one pool"}},
		Fix:      &check.Fix{Text: "Let the labels of each node match one pool beside worker.", Commands: []string{"oc get machineconfigpools", "oc get nodes --show-labels"}, Who: check.Admin},
	}
}

// noRole says that no label brings a MachineConfig to a pool without bringing it to others.
func noRole(p cluster.Pool) check.Finding {
	return check.Finding{
		Check: PoolRole, Status: check.Fail, Subject: check.Subject("pool/" + p.Name),
		Summary: fmt.Sprintf("no value of label %s brings a MachineConfig to pool %s and to no other", roleLabel, p.Name),
		Evidence: []check.Evidence{{
			Source: "MachineConfigPool/" + p.Name + " spec.machineConfigSelector", Got: showSelector(p.ConfigSelector),
			Want: fmt.Sprintf("%s=%s", roleLabel, p.Name),
		}},
		Fix: &check.Fix{
			Text: "Let the pool select its own role, too.",
			Commands: []string{fmt.Sprintf(`oc patch machineconfigpool %s --type=merge -p '{"spec":{"machineConfigSelector":{"matchExpressions":[{"key":"%s","operator":"In","values":["worker","%s"]}]}}}'`,
				p.Name, roleLabel, p.Name)},
			Who: check.Admin,
		},
	}
}

func showSelector(s cluster.Selector) string {
	var parts []string
	for key, value := range s.MatchLabels {
		parts = append(parts, key+"="+value)
	}
	slices.Sort(parts)
	for _, e := range s.MatchExpressions {
		parts = append(parts, fmt.Sprintf("%s %s (%s)", e.Key, e.Operator, strings.Join(e.Values, ", ")))
	}
	return orNone(strings.Join(parts, ", "))
}

// configTaken says that a MachineConfig of the wanted name is somebody else's and does not do what is needed.
func configTaken(p cluster.Pool, want, there cluster.MachineConfig) check.Finding {
	f := check.Finding{
		Check: NameFree, Status: check.Fail, Subject: check.Subject("machineconfig/" + want.Name),
		Summary:  fmt.Sprintf("MachineConfig %s is there, was not made by Railhead, and does not do all that pool %s needs", want.Name, p.Name),
		Evidence: []check.Evidence{{Source: "MachineConfig/" + want.Name + " label " + LabelManagedBy, Got: orNone(there.Labels[LabelManagedBy]), Want: ManagedBy}},
		Fix: &check.Fix{
			Text:     "Complete it by hand, or delete it so that Railhead makes its own; either reboots the pool's nodes. Or leave that setting alone with --no-memlock.",
			Commands: []string{"oc edit machineconfig " + want.Name, "oc delete machineconfig " + want.Name}, Who: check.Admin,
		},
	}
	if len(want.KernelArguments) > 0 {
		f.Evidence = append(f.Evidence, check.Evidence{
			Source: "MachineConfig/" + want.Name + " spec.kernelArguments", Got: orNone(strings.Join(there.KernelArguments, " ")), Want: strings.Join(want.KernelArguments, " "),
		})
		f.Fix.Text = strings.ReplaceAll(f.Fix.Text, "--no-memlock", "--no-iommu")
	}
	return f
}

// unreadDropIn says that a file may hold limits that the new one does not keep.
func unreadDropIn(p cluster.Pool, f dropIn) check.Finding {
	return check.Finding{
		Check: CRIODropIn, Status: check.Unknown, Subject: check.Subject("pool/" + p.Name),
		Summary:  fmt.Sprintf("%s of MachineConfig %s could not be read: limits that it sets would be lost", f.Path, f.Config),
		Evidence: []check.Evidence{{Source: "MachineConfig/" + f.Config + " " + f.Path, Got: f.Unread, Want: "TOML in a data: URL"}},
		Fix: &check.Fix{
			Text:     "Look whether it sets default_ulimits. If it does, add memlock there and use --no-memlock.",
			Commands: []string{"oc get machineconfig " + f.Config + " -o yaml"}, Who: check.Admin,
		},
	}
}

// judge refuses to write to a pool that is not in a state in which its rollout can be begun and followed.
func (b *setup) judge(p cluster.Pool, nodes []cluster.Node) {
	for _, f := range poolObstacles(b.s, p, nodes) {
		b.say(f)
	}
	b.available(p, nodes)
}

// poolObstacles are what keeps a pool's nodes from taking a new configuration. A pool that setup has paused is none.
func poolObstacles(s cluster.State, p cluster.Pool, nodes []cluster.Node) []check.Finding {
	subject := check.Subject("pool/" + p.Name)
	var findings []check.Finding
	refuse := func(id check.ID, summary string, e check.Evidence, fix check.Fix) {
		fix.Who = check.Admin
		findings = append(findings, check.Finding{Check: id, Status: check.Fail, Subject: subject, Summary: summary, Evidence: []check.Evidence{e}, Fix: &fix})
	}
	if c, bad := degraded(p); bad {
		refuse(PoolHealthy, fmt.Sprintf("pool %s is degraded (%s): %s", p.Name, c.Type, sayCondition(c)),
			check.Evidence{Source: "MachineConfigPool/" + p.Name + " condition " + c.Type, Got: sayCondition(c), Want: "False"},
			check.Fix{Text: "Mend the pool first: a new configuration would not get past what it is stuck at.", Commands: []string{"oc describe machineconfigpool " + p.Name}})
	}
	switch {
	case inSetup(p):
	case p.Paused:
		refuse(PoolNotPaused, fmt.Sprintf("pool %s is paused, and not by Railhead: its nodes would not be updated%s", p.Name, sriovDrains(s, nodes)),
			check.Evidence{Source: "MachineConfigPool/" + p.Name + " spec.paused", Got: "true", Want: "false"},
			check.Fix{Text: "Find out who paused it and why; resume it when they agree.", Commands: []string{fmt.Sprintf(`oc patch machineconfigpool %s --type=merge -p '{"spec":{"paused":false}}'`, p.Name)}})
	case rolling(p, nodes):
		refuse(PoolIdle, fmt.Sprintf("another rollout of pool %s is running: %d of %d nodes have %s", p.Name, len(having(nodes, p.Target)), len(nodes), orNone(p.Target)),
			check.Evidence{Source: "MachineConfigPool/" + p.Name, Got: fmt.Sprintf("status.configuration.name %s", orNone(p.Current)), Want: fmt.Sprintf("spec.configuration.name %s", orNone(p.Target))},
			check.Fix{Text: "Wait until it is done, then run this again.", Commands: []string{"oc wait machineconfigpool/" + p.Name + " --for=condition=Updated --timeout=4h"}})
	}
	return findings
}

// available warns of a pool in which the rollout finds nothing to do or no room to do it.
func (b *setup) available(p cluster.Pool, nodes []cluster.Node) {
	subject := check.Subject("pool/" + p.Name)
	if len(nodes) == 0 {
		b.say(check.Finding{
			Check: PoolNodes, Status: check.Warn, Subject: subject,
			Summary:  fmt.Sprintf("pool %s has no nodes: only nodes that come later are set up", p.Name),
			Evidence: []check.Evidence{{Source: "nodes of pool " + p.Name, Got: "0", Want: "1 or more"}},
		})
		return
	}
	var away []string
	for _, n := range nodes {
		if !n.Ready || n.Unschedulable {
			away = append(away, n.Name)
		}
	}
	if room := atOnce(maxUnavailable(p), len(nodes)); len(away) >= room {
		b.say(check.Finding{
			Check: PoolNodes, Status: check.Warn, Subject: subject,
			Summary: fmt.Sprintf("the rollout of pool %s cannot begin: %s cordoned or not Ready, and %d may be away at once", p.Name, isAre(away), room),
			Evidence: []check.Evidence{
				{Source: "nodes cordoned or not Ready", Got: strings.Join(away, ", "), Want: fmt.Sprintf("fewer than %d", room)},
				{Source: "MachineConfigPool/" + p.Name + " spec.maxUnavailable", Got: orDefault(maxUnavailable(p), "1")},
			},
			Fix: &check.Fix{Text: "Bring the nodes back, or let more be away at once.", Commands: []string{"oc adm uncordon " + away[0]}, Who: check.Admin},
		})
	}
}

func isAre(names []string) string {
	if len(names) == 1 {
		return names[0] + " is"
	}
	return inWords(names) + " are"
}

func orDefault(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// degraded returns the condition by which a pool is degraded.
func degraded(p cluster.Pool) (cluster.Condition, bool) {
	for _, kind := range []string{"RenderDegraded", "NodeDegraded", "Degraded"} {
		if c := p.Condition(kind); c.Status == "True" {
			return c, true
		}
	}
	return cluster.Condition{}, false
}

// sayCondition is what a condition says: its message, or else its reason.
func sayCondition(c cluster.Condition) string {
	return orDefault(c.Message, orDefault(c.Reason, "no reason given"))
}

// rolling reports whether the pool's nodes do not all have its configuration yet. The pool's condition Updating does not tell:
// it is True as well while a node is only cordoned or not Ready (machine-config-operator pkg/controller/node/status.go
// calculateStatus), and like the pool's counters it comes after the change.
func rolling(p cluster.Pool, nodes []cluster.Node) bool {
	return p.Target != p.Current || len(having(nodes, p.Target)) < len(nodes)
}

// having are the nodes that run a configuration and are to keep it.
func having(nodes []cluster.Node, rendered string) []cluster.Node {
	return slices.DeleteFunc(slices.Clone(nodes), func(n cluster.Node) bool {
		return n.MachineConfig.Current != rendered || n.MachineConfig.Desired != rendered
	})
}

// sriovDrains adds that the SR-IOV operator may be who paused the pool: on OpenShift it does so while it drains a node
// (sriov-network-operator controllers/drain_controller.go).
func sriovDrains(s cluster.State, nodes []cluster.Node) string {
	names := nodeNames(nodes)
	for _, n := range s.SriovNodes {
		if slices.Contains(names, n.Node) && n.SyncStatus == "InProgress" {
			return "; the SR-IOV operator is working on " + n.Node + " and may have paused it"
		}
	}
	return ""
}
