package job

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/words"
)

// memlock settles how the pods come to lock the memory that RDMA registers.
func (j *admission) memlock() {
	how, evidence := j.nodesUnlock()
	switch {
	case j.o.Memlock == MemlockByNode:
		j.note("The pods ask for no capability: the nodes are said to unlock memory.")
	case j.o.Memlock == MemlockByIPCLock:
		j.ipcLock = true
		j.lockable()
	case how == check.Pass:
		j.note("The pods need no privileges: the nodes' container runtime lets them lock memory (%s).", evidence)
	case j.mayLock():
		j.ipcLock = true
		under := fmt.Sprintf(
			"namespace %s allows it. Where the nodes lift the limit by themselves, say --memlock node, and the pods need neither",
			j.o.Namespace,
		)
		if j.scc != "" {
			under = fmt.Sprintf(
				"SCC %s allows it. `railhead setup cluster` lifts the limit on the nodes, and then pods need neither",
				j.scc,
			)
		}
		j.note(
			"The pods run as root with the capability IPC_LOCK, by which RDMA can pin memory: %s, and %s.",
			evidence, under,
		)
	default:
		j.cannotLock(how, evidence)
	}
}

// cannotLock says that RDMA will run out of memory to pin.
func (j *admission) cannotLock(how check.Status, evidence string) {
	may := fmt.Sprintf("service account %s may not add IPC_LOCK", j.accountName())
	if !j.s.Knows(cluster.SCCs) || !j.s.Knows(cluster.SCCGrants) {
		how, may = check.Unknown, fmt.Sprintf(
			"whether service account %s may add IPC_LOCK could not be read", j.accountName(),
		)
	}
	f := check.Finding{
		Check: PodMemlock, Status: how, Subject: check.Named(check.Job, j.o.Name),
		Summary: fmt.Sprintf(
			"the pods may not be able to lock the memory that RDMA registers: %s, and %s", evidence, may,
		),
		Evidence: []check.Evidence{
			{Source: "nodes", Got: evidence, Want: "memlock unlimited, or an SCC with IPC_LOCK and RunAsAny"},
		},
		Fix: &check.Fix{
			Text:     "Lift the limit on the nodes; or allow the capability. If the nodes do it by other means, say --memlock node.",
			Who:      check.Admin,
			Commands: []string{"railhead setup cluster", "railhead setup cluster --allow-ipc-lock && " + j.setUp()},
		},
	}
	openshift := j.s.Server.OpenShift()
	if !openshift || j.strict() {
		f.Summary = fmt.Sprintf(
			"the pods may not be able to lock the memory that RDMA registers: %s, and namespace %s enforces Pod Security level %s",
			evidence, j.o.Namespace, cmp.Or(j.level(), "unknown"),
		)
	}
	switch {
	case openshift && j.strict():
		f.Fix.Commands = []string{"railhead setup cluster", j.loosen()}
	case !openshift:
		f.Fix.Commands = []string{
			j.deploy("--memlock node"), "railhead setup namespace " + j.o.Namespace + " --allow-ipc-lock",
		}
	}
	j.say(f)
}

// notRoot says that IPC_LOCK does not help the pods: what they are told keeps them from being root on the node.
func (j *admission) notRoot(what, source, got, want string) {
	fix := check.Fix{
		Text: "Lift the memlock limit on the nodes, so that the pods need no capability; if they do it by other means, say --memlock node. Or let the pods be root.",
		Who:  check.Admin,
	}
	if j.s.Server.Serves(cluster.MachineConfigGroup) {
		fix.Commands = []string{"railhead setup cluster"}
	}
	j.fail(
		PodMemlock, check.Named(check.Job, j.o.Name),
		fmt.Sprintf(
			"%s cannot lock the memory that RDMA registers: the capability IPC_LOCK works for root of the node alone, and %s is %s",
			what, source, got,
		),
		check.Evidence{Source: source, Got: got, Want: want + ", or nodes that lift the memlock limit"}, fix,
	)
}

// nodesUnlock reports whether the container runtime of the nodes that pods may come to lets containers lock all memory:
// Pass, Fail or Unknown, with the evidence.
func (j *placement) nodesUnlock() (check.Status, string) {
	switch {
	case !j.s.Server.Serves(cluster.MachineConfigGroup):
		return check.Unknown, "whether the container runtime of the nodes lifts the memlock limit is not known"
	case !j.s.Knows(cluster.Nodes) || !j.s.Knows(cluster.Pools):
		return check.Unknown, "the pools of the nodes could not be read"
	case len(j.able) == 0:
		return check.Unknown, "no node can take a pod"
	case !slices.ContainsFunc(j.able, func(n cluster.Node) bool { return !unlockedBySetup(j.s, n) }):
		return check.Pass, "the MachineConfig of `railhead setup cluster`"
	case !j.s.Knows(cluster.MachineConfigs):
		return check.Unknown, "the MachineConfigs of the nodes could not be read"
	}
	var locked, unread []string
	from := ""
	for _, n := range j.able {
		u := plan.UlimitsOf(plan.CRIOFiles(j.configsOf(n)))
		switch {
		case len(u.Unread) > 0:
			unread = append(unread, n.Name)
		case !u.MemlockUnlimited():
			locked = append(locked, n.Name)
		default:
			from = u.From.Config
		}
	}
	switch {
	case len(locked) > 0:
		return check.Fail, fmt.Sprintf("no MachineConfig lifts the memlock limit on %s", words.Few(locked, 4))
	case len(unread) > 0:
		return check.Unknown, fmt.Sprintf("CRI-O's configuration on %s could not be read", words.Few(unread, 4))
	}
	return check.Pass, "MachineConfig " + from
}

// configsOf are the MachineConfigs that a node runs, not those that it will.
func (j *placement) configsOf(n cluster.Node) []cluster.MachineConfig {
	pool, ok := j.s.PoolOf(n)
	if !ok {
		return nil
	}
	sources := sourcesOf(pool, n)
	return slices.DeleteFunc(
		plan.SelectedConfigs(pool, j.s.MachineConfigs),
		func(m cluster.MachineConfig) bool { return !slices.Contains(sources, m.Name) },
	)
}

// mayLock reports whether the pods can be admitted with IPC_LOCK, and pins the SCC that does it. Pod Security and SCCs
// both judge: a namespace of OpenShift has a level where somebody gave it one.
func (j *admission) mayLock() bool {
	if j.strict() {
		return false
	}
	if !j.s.Server.OpenShift() {
		return j.s.Knows(cluster.Namespaces)
	}
	return j.lockingSCC()
}

// lockingSCC pins an SCC that admits pods with IPC_LOCK as root; false without one.
func (j *admission) lockingSCC() bool {
	j.scc = j.granted(func(c cluster.SCC) bool { return locks(c) && (!c.Privileged || c.Name == j.o.SCC) })
	return j.scc != ""
}

// locks reports whether pods under the SCC can lock memory: the capability works for root only.
func locks(c cluster.SCC) bool {
	return c.AllowsCapability(plan.CapIPCLock) && c.RunAsUser == "RunAsAny"
}
