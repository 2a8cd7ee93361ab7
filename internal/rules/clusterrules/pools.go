package clusterrules

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
)

// PoolsWithRDMA returns the pools of nodes with NICs that the SR-IOV operator sees, RDMA resources of a device plugin
// or a DRA driver, or GPUs; then those nodes, and last such nodes that are in no pool.
func PoolsWithRDMA(s cluster.State) (pools, nodes, strays []string) {
	able := map[string]bool{}
	for _, o := range s.RDMAOffers() {
		for _, name := range o.Nodes() {
			able[name] = true
		}
	}
	for _, o := range s.DRAOffers() {
		for name := range o.PerNode {
			able[name] = true
		}
	}
	for _, n := range s.SriovNodes {
		if slices.ContainsFunc(n.Interfaces, cluster.SriovInterface.IsRDMANIC) {
			able[n.Node] = true
		}
	}
	for _, n := range s.Nodes {
		_, gpus := n.GPUs()
		if gpus == 0 && !able[n.Name] {
			continue
		}
		p, ok := s.PoolOf(n)
		if !ok {
			strays = append(strays, n.Name)
			continue
		}
		nodes = append(nodes, n.Name)
		if !slices.Contains(pools, p.Name) {
			pools = append(pools, p.Name)
		}
	}
	slices.Sort(pools)
	return pools, nodes, strays
}

// poolFindings returns the row of a check of the pools with RDMA or GPUs, and of those that setup is changing.
func poolFindings(id check.ID) func(view) []check.Finding {
	judge := func(s view) []check.Finding {
		if !s.state.Knows(cluster.Pools) || !s.state.Knows(cluster.Nodes) {
			return nil
		}
		names, _, _ := PoolsWithRDMA(s.state)
		byName := func(a, b cluster.Pool) int { return cmp.Compare(a.Name, b.Name) }
		var findings []check.Finding
		for _, p := range slices.SortedFunc(slices.Values(s.state.Pools), byName) {
			if slices.Contains(names, p.Name) || p.InSetup() {
				findings = append(findings, poolState(s.state, p)...)
			}
		}
		return slices.DeleteFunc(findings, func(f check.Finding) bool { return f.Check != id })
	}
	return reading(judge, cluster.Pools, cluster.Nodes)
}

// poolState judges a pool for the pods on its nodes. A paused or half finished rollout is a fault if nodes lack their
// configuration.
func poolState(s cluster.State, p cluster.Pool) []check.Finding {
	nodes := s.NodesOf(p.Name)
	lacking := len(nodes) - len(p.UpToDate(nodes))
	lack := fmt.Sprintf("%d of %d nodes lack %s", lacking, len(nodes), cmp.Or(p.Target, "none"))
	findings := PoolBlockers(s, p, nodes)
	for i := range findings {
		f := &findings[i]
		switch {
		case f.Check == PoolNotPaused && (lacking > 0 || p.Target != p.Current):
			f.Summary += "; " + lack
		case f.Check == PoolNotPaused:
			f.Status = check.Warn
		case f.Check == PoolIdle:
			*f = halfRolledOut(p, nodes, *f, lack)
		case f.Check == PoolHealthy:
			f.Evidence = append(f.Evidence, failedNodes(nodes)...)
			f.Fix.Text = "Repair what the condition names: until then the nodes do not get their configuration."
		}
	}
	if p.Paused && p.InSetup() {
		findings = append(findings, interruptedSetup(p, lack))
	}
	for i := range findings {
		findings[i].About = append(findings[i].About, unschedulable(nodes)...)
	}
	return findings
}

// unschedulable returns the nodes of a pool that its state may keep pods from.
func unschedulable(nodes []cluster.Node) []check.Ref {
	var refs []check.Ref
	for _, n := range nodes {
		if !n.Ready || n.Unschedulable || n.MachineConfig.Failed() {
			refs = append(refs, check.NodeRef(n.Name))
		}
	}
	return refs
}

func interruptedSetup(p cluster.Pool, lack string) check.Finding {
	return check.Finding{
		Check: PoolNotPaused, Status: check.Warn, Subject: check.Named(check.Pool, p.Name),
		Summary: fmt.Sprintf("pool %s is paused by 'railhead setup cluster', which was interrupted: %s", p.Name, lack),
		Evidence: check.Observed("MachineConfigPool/"+p.Name+" annotation "+cluster.AnnotationPausedBy,
			p.Annotations[cluster.AnnotationPausedBy], "no annotation"),
		Fix: check.ByAdmin("Complete the setup, or undo it.",
			"railhead setup cluster", "railhead setup rollback"),
	}
}

// halfRolledOut reports that nodes of a pool differ, and what blocks the rollout if it does not progress.
func halfRolledOut(p cluster.Pool, nodes []cluster.Node, f check.Finding, lack string) check.Finding {
	if o := (Rollout{Pool: p.Name, From: p.Current}).Blocker(p, nodes); o != nil {
		return o.Finding
	}
	f.Status = check.Warn
	f.Summary = fmt.Sprintf("pool %s is half rolled out: %s and will reboot in turn", p.Name, lack)
	f.Fix.Text = "Wait until it is done. Until then, pods on different nodes may have different limits and IOMMU modes."
	return f
}

func failedNodes(nodes []cluster.Node) []check.Evidence {
	var evidence []check.Evidence
	for _, n := range nodes {
		if c := n.MachineConfig; c.Failed() {
			evidence = append(evidence, check.Evidence{Source: reasonOf(n), Got: cmp.Or(c.Reason, c.State)})
		}
	}
	return evidence
}

// PoolBlockers returns the obstacles to a new configuration of a pool's nodes. A pool that setup has paused is
// ready.
func PoolBlockers(s cluster.State, p cluster.Pool, nodes []cluster.Node) []check.Finding {
	var findings []check.Finding
	if c, degraded := p.WhyDegraded(); degraded {
		findings = append(findings, degradedPool(p, c))
	}
	switch {
	case p.InSetup():
	case p.Paused:
		findings = append(findings, pausedPool(s, p, nodes))
	case p.Rolling(nodes):
		findings = append(findings, busyPool(p, nodes))
	}
	return findings
}

func degradedPool(p cluster.Pool, c cluster.Condition) check.Finding {
	return check.Finding{
		Check: PoolHealthy, Status: check.Fail, Subject: check.Named(check.Pool, p.Name),
		Summary:  fmt.Sprintf("pool %s is degraded (%s): %s", p.Name, c.Type, c.Why()),
		Evidence: degradedEvidence(p, c),
		Fix: check.ByAdmin("Repair the pool first: a new configuration would stop at the same fault.",
			"oc describe machineconfigpool "+p.Name),
	}
}

func degradedEvidence(p cluster.Pool, c cluster.Condition) []check.Evidence {
	return check.Observed("MachineConfigPool/"+p.Name+" condition "+c.Type, c.Why(), "False")
}

func pausedPool(s cluster.State, p cluster.Pool, nodes []cluster.Node) check.Finding {
	return check.Finding{
		Check: PoolNotPaused, Status: check.Fail, Subject: check.Named(check.Pool, p.Name),
		Summary: fmt.Sprintf("pool %s is paused, and not by Railhead: its nodes would not be updated%s",
			p.Name, SriovDrains(s, nodes)),
		Evidence: pausedEvidence(p),
		Fix:      resumePool(p),
	}
}

func pausedEvidence(p cluster.Pool) []check.Evidence {
	return check.Observed("MachineConfigPool/"+p.Name+" spec.paused", "true", "false")
}

func resumePool(p cluster.Pool) *check.Fix {
	resume := `oc patch machineconfigpool %s --type=merge -p '{"spec":{"paused":false}}'`
	return check.ByAdmin("Find out who paused it and why; resume it when they agree.", fmt.Sprintf(resume, p.Name))
}

func busyPool(p cluster.Pool, nodes []cluster.Node) check.Finding {
	target := cmp.Or(p.Target, "none")
	return check.Finding{
		Check: PoolIdle, Status: check.Fail, Subject: check.Named(check.Pool, p.Name),
		Summary: fmt.Sprintf("another rollout of pool %s is running: %d of %d nodes have %s",
			p.Name, len(p.UpToDate(nodes)), len(nodes), target),
		Evidence: check.Observed("MachineConfigPool/"+p.Name,
			"status.configuration.name "+cmp.Or(p.Current, "none"), "spec.configuration.name "+target),
		Fix: check.ByAdmin("Wait until it is done, then run this again.",
			"oc wait machineconfigpool/"+p.Name+" --for=condition=Updated --timeout=4h"),
	}
}

// SriovDrains returns the end of a sentence: that the SR-IOV operator may have paused the pool: on OpenShift it does so
// while it drains a node (sriov-network-operator controllers/drain_controller.go).
func SriovDrains(s cluster.State, nodes []cluster.Node) string {
	names := nodeNames(nodes)
	for _, n := range s.SriovNodes {
		if slices.Contains(names, n.Node) && n.SyncStatus == "InProgress" {
			return "; the SR-IOV operator is working on " + n.Node + " and may have paused it"
		}
	}
	return ""
}
