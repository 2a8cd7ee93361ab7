package setup

import (
	"fmt"
	"slices"
	"time"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	clusterrules "github.com/railhead/railhead/internal/rules/cluster"
)

// Options are the flags of `railhead setup cluster`.
type Options struct {
	Pools        []string      // machine config pools; none: those whose nodes have RDMA NICs or GPUs
	NoIOMMU      bool          // leave the kernel arguments alone
	NoMemlock    bool          // leave the locked-memory limit alone
	SCC          string        // use this security context constraint and make none
	AllowIPCLock bool          // let pods add IPC_LOCK and be root: for nodes whose locked-memory limit cannot be set
	Sriov        bool          // make a policy for each RDMA NIC that has none
	VFs          int           // virtual functions per NIC; 0: one per GPU of a node
	PFs          []string      // NICs by interface name; none: those that are discovered
	VerifyFirst  bool          // let one node of each pool finish, check it, then let the others go
	RebootTime   time.Duration // of one node, as measured; 0: 10 to 15 minutes are assumed
}

// Cluster is the plan that sets up a cluster's nodes, its security context constraint and its NICs for RDMA. What is so
// already is left out. With a finding that is Fail nothing may be written, and the plan is empty.
func Cluster(s cluster.State, o Options) (plan.Plan, []check.Finding) {
	b := &setup{s: s, o: o, configs: slices.Clone(s.MachineConfigs)}
	if b.readable(); check.Worst(b.findings) == check.Fail {
		return plan.Plan{}, b.findings
	}
	steps := b.sccSteps()
	b.nodes()
	steps = append(steps, b.rolloutSteps()...)
	steps = append(steps, b.sriovSteps()...)
	if check.Worst(b.findings) == check.Fail {
		return plan.Plan{}, b.findings
	}
	return plan.Plan{Title: "Set up the cluster for RDMA", Steps: steps, Notes: b.notes}, b.findings
}

// setup gathers the plan of a cluster.
type setup struct {
	s        cluster.State
	o        Options
	configs  []cluster.MachineConfig // as they will be: those that are there and those that are written
	targets  []string                // pools that are set up
	writes   []configWrite
	findings []check.Finding
	notes    []string
}

// configWrite is a MachineConfig to write.
type configWrite struct {
	cluster.MachineConfig
	Why      string
	Replaces bool // one with other content is there
}

func (b *setup) say(f check.Finding) { b.findings = append(b.findings, f) }

func (b *setup) note(format string, args ...any) {
	b.notes = append(b.notes, fmt.Sprintf(format, args...))
}

// setsNodes reports whether nodes are to be set up by MachineConfigs.
func (b *setup) setsNodes() bool {
	return !(b.o.NoIOMMU && b.o.NoMemlock) && b.s.Server.Serves(cluster.MachineConfigGroup)
}

// readable refuses to plan with unreadable lists: a drop-in would lose entries, an object of somebody else would be
// taken.
func (b *setup) readable() {
	kinds := []cluster.Kind{cluster.Objects}
	if b.setsNodes() {
		kinds = append(kinds, cluster.Nodes, cluster.Pools, cluster.MachineConfigs)
	}
	if b.s.Server.OpenShift() {
		kinds = append(kinds, cluster.SCCs)
	}
	if b.o.Sriov && b.s.Server.Serves(cluster.SriovGroup) {
		kinds = append(kinds, cluster.Nodes, cluster.SriovPolicies, cluster.SriovNodes)
	}
	b.findings = append(b.findings, plan.Unreadable(b.s, kinds...)...)
}

// nodes plans the MachineConfigs of the pools and judges every pool that they reach.
func (b *setup) nodes() {
	switch {
	case b.o.NoIOMMU && b.o.NoMemlock:
		return
	case !b.setsNodes():
		b.say(elsewhere(b.s, b.o))
		return
	}
	for _, p := range b.pools() {
		b.targets = append(b.targets, p.Name)
		if !b.o.NoIOMMU {
			b.iommu(p)
		}
		if !b.o.NoMemlock {
			b.memlock(p)
		}
	}
	if len(b.writes) > 0 && len(b.o.Pools) == 0 {
		b.noteDiscovered()
	}
}

// pools returns the requested pools, otherwise those with RDMA NICs or GPUs, otherwise worker.
func (b *setup) pools() []cluster.Pool {
	names := b.o.Pools
	if len(names) == 0 {
		names = b.discovered()
	}
	var pools []cluster.Pool
	for _, name := range names {
		p, ok := b.s.Pool(name)
		if !ok {
			b.say(noPool(b.s, name))
			continue
		}
		if !slices.ContainsFunc(pools, func(other cluster.Pool) bool { return other.Name == name }) {
			pools = append(pools, p)
		}
	}
	slices.SortFunc(pools, workerFirst)
	return pools
}

func (b *setup) discovered() []string {
	names, _, strays := clusterrules.PoolsWithRDMA(b.s)
	if len(strays) > 0 {
		b.say(stray(strays))
	}
	if len(names) == 0 {
		return []string{cluster.WorkerPool}
	}
	return names
}

// noteDiscovered says why these pools, and which nodes reboot for the sake of others.
func (b *setup) noteDiscovered() {
	names, able, _ := clusterrules.PoolsWithRDMA(b.s)
	if len(names) == 0 {
		b.note("No node shows RDMA NICs or GPUs: pool %s is set up.", cluster.WorkerPool)
	}
	for _, name := range names {
		nodes := b.s.NodesOf(name)
		n := 0
		for _, node := range nodes {
			if slices.Contains(able, node.Name) {
				n++
			}
		}
		if n < len(nodes) {
			b.note("%d nodes of pool %s will reboot, but only %d have RDMA NICs or GPUs. "+
				"A separate machine config pool for those %d would avoid %d reboots.", len(nodes), name, n, n, len(nodes)-n)
		}
	}
}
