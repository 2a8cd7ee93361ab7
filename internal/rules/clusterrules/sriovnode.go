package clusterrules

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/words"
)

// unfinishedSriovNodes finds nodes that the SR-IOV operator could not set up, and nodes that wait for their drain. A
// node that it is working on without an error is no finding.
func unfinishedSriovNodes(s view) []check.Finding {
	var findings []check.Finding
	for _, n := range s.state.SriovNodes {
		switch {
		case n.SyncStatus == "Failed", n.SyncStatus == "InProgress" && n.SyncError != "":
			findings = append(findings, failedSriovNode(s.state, n))
		case n.Drain.Waits():
			findings = append(findings, waitingSriovNode(s.state, n))
		}
	}
	return findings
}

// failedSriovNode reports an error of the operator. Its daemon tries again: the status is InProgress then, and the
// error that of the last attempt (sriov-network-operator pkg/daemon/status.go).
func failedSriovNode(s cluster.State, n cluster.SriovNode) check.Finding {
	summary := "the SR-IOV operator could not set up node %s: %s"
	if n.SyncStatus == "InProgress" {
		summary = "the SR-IOV operator is still trying to set up node %s, and its last attempt failed: %s"
	}
	f := check.Finding{
		Check: SriovNodeState, Status: check.Fail, Subject: check.NodeRef(n.Node),
		About:    policyResources(s, n),
		Summary:  fmt.Sprintf(summary, n.Node, cmp.Or(n.SyncError, "it gives no reason")),
		Evidence: sriovEvidence(n),
		Fix: check.ByAdmin("Correct "+policiesOf(s, n)+" by the error; the operator then retries.",
			"kubectl -n "+s.SriovNamespace()+" logs ds/sriov-network-config-daemon --tail=50"),
	}
	if n.LockedDown() {
		f.Fix = check.ByAdmin("The policy is not at fault: with Secure Boot the kernel is locked down, and the "+
			"operator cannot configure NVIDIA's cards. Disable Secure Boot in the firmware of the node; the operator "+
			"then retries.",
			"oc debug node/"+n.Node+" -- chroot /host mokutil --sb-state",
			"oc debug node/"+n.Node+" -- cat /sys/kernel/security/lockdown")
	}
	if pods := n.Blockers(); len(pods) > 0 {
		f.Fix = evictBlockers(pods)
		for _, pod := range pods {
			namespace, name, _ := strings.Cut(pod, "/")
			f.About = append(f.About, check.PodRef(namespace, name))
		}
	}
	return f
}

// evictBlockers returns how pods stop blocking a drain.
func evictBlockers(pods []string) *check.Fix {
	fix := check.ByAdmin("The policy is not at fault: the operator must drain the node first, and " +
		words.Few(pods, 4) +
		" cannot be evicted. A PodDisruptionBudget may forbid it, or the pod does not end: free the budget, or " +
		"delete the pod; the operator then goes on.")
	for i, pod := range pods {
		namespace, name, _ := strings.Cut(pod, "/")
		if i == 0 || !strings.HasPrefix(pods[i-1], namespace+"/") {
			fix.Commands = append(fix.Commands, "kubectl -n "+namespace+" get poddisruptionbudgets")
		}
		fix.Commands = append(fix.Commands, "kubectl -n "+namespace+" get pod "+name+" -o wide")
	}
	return fix
}

// waitingSriovNode reports a node whose drain has not ended. The operator drains few nodes at a time, by default one.
func waitingSriovNode(s cluster.State, n cluster.SriovNode) check.Finding {
	state := "has not begun"
	if n.Drain.Current == "Draining" {
		state = "has not ended"
	}
	return check.Finding{
		Check: SriovNodeState, Status: check.Warn, Subject: check.NodeRef(n.Node),
		About: policyResources(s, n),
		Summary: fmt.Sprintf("the SR-IOV operator has not set up node %s: it must drain the node first, and the "+
			"drain %s", n.Node, state),
		Evidence: sriovEvidence(n),
		Fix: check.ByAdmin("Wait if other nodes are drained before this one. Otherwise a paused machine config pool, "+
			"a maxUnavailable of 0 in a SriovNetworkPoolConfig, or an operator that does not run holds the drain up.",
			fmt.Sprintf("kubectl -n %s get sriovnetworknodestates,sriovnetworkpoolconfigs", s.SriovNamespace()),
			fmt.Sprintf("kubectl -n %s logs deploy/sriov-network-operator --tail=50", s.SriovNamespace())),
	}
}

func sriovEvidence(n cluster.SriovNode) []check.Evidence {
	object := "sriovnetworknodestate/" + n.Node
	evidence := check.Observed(object+" status.syncStatus", cmp.Or(n.SyncStatus, "none"), "Succeeded")
	if n.SyncError != "" {
		evidence = append(evidence, check.Evidence{Source: object + " status.lastSyncError", Got: n.SyncError})
	}
	if n.Drain.Waits() {
		evidence = append(evidence,
			check.Evidence{Source: object + " annotation current-state", Got: cmp.Or(n.Drain.Current, "none")},
			check.Evidence{Source: object + " annotation desired-state", Got: n.Drain.Desired, Want: "Idle"})
	}
	return evidence
}

// policiesOf names the policies that select a node.
func policiesOf(s cluster.State, n cluster.SriovNode) string {
	var names []string
	node, known := s.Node(n.Node)
	for _, p := range s.SriovPolicies {
		if !known || p.SelectsNode(node) {
			names = append(names, p.Name)
		}
	}
	return strings.TrimSpace("the SriovNetworkNodePolicy " + words.Few(names, 4))
}

// policyResources returns the resources that policies create on a node. A policy names its resource without the prefix
// that the operator gives it: openshift.io by default.
func policyResources(s cluster.State, n cluster.SriovNode) []check.Ref {
	var refs []check.Ref
	for _, p := range s.SriovPolicies {
		node, known := s.Node(n.Node)
		if known && !p.SelectsNode(node) || len(n.Interfaces) > 0 && !slices.ContainsFunc(n.Interfaces, p.Selects) {
			continue
		}
		for _, name := range s.ResourceNames(p.ResourceName) {
			refs = append(refs, check.Named(check.Resource, name))
		}
	}
	return refs
}
