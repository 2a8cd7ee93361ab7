package plan

import (
	"fmt"
	"slices"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
)

// PoolFindings are what is wrong with the machine config pools of the nodes with RDMA or GPUs, and with those that setup
// wrote to, for somebody who does not mean to write to them: paused, degraded, or half rolled out.
func PoolFindings(s cluster.State) []check.Finding {
	if !s.Knows(cluster.Pools) || !s.Knows(cluster.Nodes) {
		return nil
	}
	names, _, _ := poolsWithRDMA(s)
	pools := slices.Clone(s.Pools)
	slices.SortFunc(pools, byName)
	var findings []check.Finding
	for _, p := range pools {
		if slices.Contains(names, p.Name) || inSetup(p) {
			findings = append(findings, poolState(s, p)...)
		}
	}
	return findings
}

// poolState is what of a pool matters to the pods on its nodes. A pool that is paused or half rolled out is a fault where nodes
// lack the configuration that they are to have.
func poolState(s cluster.State, p cluster.Pool) []check.Finding {
	nodes := nodesOf(s, p.Name)
	lacking := len(nodes) - len(having(nodes, p.Target))
	pending := lacking > 0 || p.Target != p.Current
	findings := poolObstacles(s, p, nodes)
	for i := range findings {
		f := &findings[i]
		switch {
		case f.Check == PoolNotPaused && pending:
			f.Summary += fmt.Sprintf("; %d of %d lack %s", lacking, len(nodes), orNone(p.Target))
		case f.Check == PoolNotPaused:
			f.Status = check.Warn
		case f.Check == PoolIdle:
			findings[i] = halfRolledOut(s, p, *f, lacking, len(nodes))
		case f.Check == PoolHealthy:
			f.Evidence = append(f.Evidence, failingNodes(nodes)...)
			f.Fix.Text = "Mend what the condition names: the nodes do not get their configuration before that."
		}
	}
	if p.Paused && inSetup(p) {
		findings = append(findings, check.Finding{
			Check: PoolNotPaused, Status: check.Warn, Subject: check.Subject("pool/" + p.Name),
			Summary:  fmt.Sprintf("pool %s is paused by 'railhead setup cluster', which was not finished: %d of %d nodes lack %s", p.Name, lacking, len(nodes), orNone(p.Target)),
			Evidence: []check.Evidence{{Source: "MachineConfigPool/" + p.Name + " annotation " + AnnotationPausedBy, Got: p.Annotations[AnnotationPausedBy], Want: "not there"}},
			Fix:      &check.Fix{Text: "Finish the setup, or take it back.", Commands: []string{"railhead setup cluster", "railhead setup rollback"}, Who: check.Admin},
		})
	}
	return findings
}

// halfRolledOut says that nodes of a pool differ, and why that does not end where it does not.
func halfRolledOut(s cluster.State, p cluster.Pool, f check.Finding, lacking, all int) check.Finding {
	if o := RolloutDone(Rollout{Pool: p.Name, From: p.Current})(s).Stuck; o != nil {
		return o.Finding
	}
	f.Status = check.Warn
	f.Summary = fmt.Sprintf("pool %s is half rolled out: %d of %d nodes lack %s, and reboot when their turn comes", p.Name, lacking, all, orNone(p.Target))
	f.Fix.Text = "Wait until it is done: pods on nodes that differ may see different limits and IOMMU modes."
	return f
}

// failingNodes are what the daemons of nodes say that could not be brought to their configuration.
func failingNodes(nodes []cluster.Node) []check.Evidence {
	var evidence []check.Evidence
	for _, n := range nodes {
		if failing(n) {
			evidence = append(evidence, check.Evidence{Source: reasonOf(n), Got: orDefault(n.MachineConfig.Reason, n.MachineConfig.State)})
		}
	}
	return evidence
}

// UnmadePods is why a job has fewer pods than its controller is told to make; ok is false when it has all.
func UnmadePods(s cluster.State, job, namespace string) (f check.Finding, ok bool) {
	size, pods := JobSize(s, job, namespace), JobPods(s, job, namespace)
	if size == 0 || len(pods) >= size {
		return f, false
	}
	asked := cluster.Pod{Namespace: namespace, Name: job + "-0", Owner: "StatefulSet/" + job, Labels: map[string]string{LabelInstance: job}}
	if o, wrong := cluster.Explain(asked, JobEvents(s, job, namespace), s); wrong {
		o.Subject = check.Subject("job/" + namespace + "/" + job)
		return o.Finding, true
	}
	return check.Finding{
		Check: cluster.PodPending, Status: check.Warn, Subject: check.Subject("job/" + namespace + "/" + job),
		Summary:  fmt.Sprintf("job %s has %d of %s, and nothing says why", job, len(pods), counted(size, "pod")),
		Evidence: []check.Evidence{{Source: "pods of job " + job, Got: fmt.Sprint(len(pods)), Want: fmt.Sprint(size)}},
		Fix:      &check.Fix{Text: "See what its controller says.", Commands: []string{fmt.Sprintf("kubectl -n %s describe statefulset %s", namespace, job)}, Who: check.User},
	}, true
}
