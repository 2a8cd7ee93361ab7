// Package fleet compares the machines of a job: what most of them have is the norm, and those that differ are named.
package fleet

import (
	"fmt"
	"slices"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/rail"
	"github.com/railhead/railhead/internal/rules/machine"
	"github.com/railhead/railhead/internal/wire"
	"github.com/railhead/railhead/internal/words"
)

// Facts that the pods of a job, or its nodes, must share.
const (
	MachineReached   check.ID = "machine-reached"
	Rails            check.ID = "fleet-rails"
	LinkLayer        check.ID = "fleet-link-layer"
	GIDType          check.ID = "fleet-gid-type"
	MTU              check.ID = "fleet-mtu"
	Rate             check.ID = "fleet-rate"
	Firmware         check.ID = "fleet-firmware"
	NCCL             check.ID = "fleet-nccl-version"
	RDMACore         check.ID = "fleet-rdma-core"
	Memlock          check.ID = "fleet-memlock"
	GPUDirect        check.ID = "fleet-gpudirect"
	RailSubnet       check.ID = "rail-subnet"
	DuplicateAddress check.ID = "duplicate-address"
)

// Judge compares the pods of each job with each other, and nodes with nodes. The cost grows with the number of
// machines, not of their pairs.
func Judge(members []Member) check.Report {
	var f fleet
	for _, m := range members {
		switch {
		case m.Unreached != "":
			f.unreached = append(f.unreached, m)
		case m.IsNode():
			f.nodes = append(f.nodes, m)
		default:
			f.pods = append(f.pods, m)
		}
	}
	for _, pods := range grouped(f.pods, func(m Member) string { return m.Group }) {
		f.jobs = append(f.jobs, wireOf(pods))
	}
	return check.Run(checks(), f)
}

type fleet struct {
	unreached, pods, nodes []Member
	jobs                   []wire.Job // of the pods
}

// checks returns the catalogue. A fault that makes training hang is listed before one that slows it down.
func checks() []check.Check[fleet] {
	all := []check.Check[fleet]{
		{ID: MachineReached, Title: "every pod and node could be examined", Run: unreached},
		{
			ID: DuplicateAddress, Title: "every address of a rail is that of one pod",
			Run: func(f fleet) []check.Finding { // an address must be unique across jobs, too
				return append(duplicates(f.pods), duplicates(f.nodes)...)
			},
		},
		{
			ID: RailSubnet, Title: "each rail is in the same subnet on all nodes",
			Needs:       []check.ID{DuplicateAddress},
			ExplainedBy: []check.ID{rail.GIDUsable},
			Run:         inEachGroup(subnets),
		},
	}
	for _, t := range traits {
		all = append(all, check.Check[fleet]{
			ID: t.id, Title: t.title, ExplainedBy: t.causes, Run: inEachGroup(t.compare),
		})
	}
	return append(append(all, wireChecks...), check.Check[fleet]{
		ID: Firmware, Title: "all NICs of one kind have the same firmware",
		ExplainedBy: []check.ID{machine.FirmwareUniform},
		Run:         inEachGroup(firmware),
	})
}

// inEachGroup returns a check that judges the pods of each job by themselves, and so the nodes. It is skipped if one of
// them cannot be judged and nothing was found in the others.
func inEachGroup(judge func([]Member) []check.Finding) func(fleet) []check.Finding {
	return func(f fleet) []check.Finding {
		var findings []check.Finding
		for _, pods := range grouped(f.pods, func(m Member) string { return m.Group }) {
			findings = append(findings, judge(pods)...)
		}
		return foundOrSkipped(append(findings, judge(f.nodes)...))
	}
}

// foundOrSkipped returns the findings, or if there are none the first reason why the check is skipped.
func foundOrSkipped(all []check.Finding) []check.Finding {
	skipped := func(f check.Finding) bool { return f.Status == check.Skipped }
	if found := slices.DeleteFunc(slices.Clone(all), skipped); len(found) > 0 {
		return found
	}
	return all[:min(1, len(all))]
}

// grouped returns the items with equal keys together. The groups have the order of their first items.
func grouped[T any](items []T, key func(T) string) [][]T {
	var groups [][]T
	at := map[string]int{}
	for _, item := range items {
		k := key(item)
		i, known := at[k]
		if !known {
			i = len(groups)
			at[k] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], item)
	}
	return groups
}

// unreached reports the machines that could not be examined, one finding per reason.
func unreached(f fleet) []check.Finding {
	total := len(f.unreached) + len(f.pods) + len(f.nodes)
	var findings []check.Finding
	for _, machines := range grouped(f.unreached, func(m Member) string { return m.Unreached }) {
		findings = append(findings, notReached(machines, total))
	}
	return findings
}

func notReached(machines []Member, total int) check.Finding {
	var names []string
	var refs []check.Ref
	for _, m := range machines {
		names = append(names, m.place())
		refs = append(refs, m.Ref)
	}
	places, reason, first := words.Few(names, 6), machines[0].Unreached, machines[0].Ref
	f := check.Finding{
		Check: MachineReached, Status: check.Unknown, Subject: first,
		Summary:  "could not be examined: " + reason,
		Evidence: check.Observed("railhead-pod snapshot in "+places, reason, "a snapshot"),
		Fix:      howToReach(first),
	}
	if len(machines) > 1 {
		f.Subject, f.About = check.Ref{Kind: check.Pods}, refs
		f.Summary = fmt.Sprintf("%d of %d could not be examined: %s (%s)", len(machines), total, reason, places)
	}
	return f
}

func howToReach(r check.Ref) *check.Fix {
	if r.Kind == check.Pod {
		return check.ByUser("Check that it runs and that you may run commands in it, then run this again.",
			fmt.Sprintf("kubectl -n %s describe pod %s", r.Namespace, r.Name))
	}
	return check.ByAdmin("A privileged pod examines a node. Check that the node is Ready, and name an image with a "+
		"shell that it has or can pull, then run this again.",
		"kubectl describe node "+r.Name, fmt.Sprintf("railhead doctor node/%s --probe-image IMAGE", r.Name))
}
