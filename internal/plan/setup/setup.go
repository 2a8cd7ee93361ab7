package setup

import (
	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
)

// Options are the flags of `railhead setup cluster`.
type Options struct {
	Pools        []string // machine config pools; none: those whose nodes have RDMA NICs or GPUs
	OwnPool      string   // pool to create for the nodes of worker with RDMA NICs or GPUs
	NoIOMMU      bool     // leave the kernel arguments alone
	NoMemlock    bool     // leave the locked-memory limit alone
	SCC          string   // use this security context constraint and create none
	AllowIPCLock bool     // let pods add IPC_LOCK and be root: for nodes whose locked-memory limit cannot be set
	Sriov        bool     // create a policy for each RDMA NIC without one
	VFs          int      // virtual functions per NIC; 0: as in an earlier run, otherwise one per GPU of a node
	MTU          int      // of the virtual functions; 0: as in an earlier run, otherwise their NIC's
	PFs          []string // NICs by interface name; none: those that are discovered
	VerifyFirst  bool     // update one node of each pool and check it before the others
	SkipVerify   bool     // continue a rollout that an earlier run paused for the check
}

// Kinds returns the lists that the plans read.
func Kinds() []cluster.Kind {
	return append(cluster.ClaimKinds(),
		cluster.Nodes, cluster.Pools, cluster.MachineConfigs,
		cluster.Networks, cluster.SriovNetworks, cluster.SriovPolicies, cluster.SriovNodes,
		cluster.SCCs, cluster.SCCGrants, cluster.Objects)
}

// setsNodes reports whether the plan writes MachineConfigs.
func (o Options) setsNodes(s cluster.State) bool {
	return !(o.NoIOMMU && o.NoMemlock) && s.Server.Serves(cluster.MachineConfigGroup)
}

// Cluster returns the plan that sets up a cluster's nodes, its security context constraint and its NICs for RDMA,
// without settings that are in place already. If a finding is Fail, nothing may be written and the plan is empty.
func Cluster(s cluster.State, o Options) (plan.Plan, []check.Finding) {
	// An unread list could hide limits that a drop-in replaces, or an object of somebody else.
	kinds := []cluster.Kind{cluster.Objects}
	if o.setsNodes(s) {
		kinds = append(kinds, cluster.Nodes, cluster.Pools, cluster.MachineConfigs)
	}
	if s.Server.OpenShift() {
		kinds = append(kinds, cluster.SCCs)
	}
	if o.Sriov && s.Server.Serves(cluster.SriovGroup) {
		kinds = append(kinds, cluster.Nodes, cluster.SriovPolicies, cluster.SriovNodes)
	}
	if unreadable := plan.Unreadable(s, kinds...); len(unreadable) > 0 {
		return plan.Plan{}, unreadable
	}
	return join("Set up the cluster for RDMA", sccPart(s, o), nodesPart(s, o), sriovPart(s, o))
}

// part is a part of a plan, with its findings.
type part struct {
	plan.Draft
	steps []plan.Step
}

// join returns the plan of all parts. It is empty if a finding is Fail.
func join(title string, parts ...part) (plan.Plan, []check.Finding) {
	p := plan.Plan{Title: title}
	var all plan.Draft
	for _, part := range parts {
		p.Steps = append(p.Steps, part.steps...)
		p.Notes = append(p.Notes, part.Notes...)
		all.Report(part.Findings...)
	}
	if all.Failed() {
		return plan.Plan{}, all.Findings
	}
	return p, all.Findings
}
