package access

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/words"
)

// memlock chooses how the pods lock the memory that RDMA registers.
func (a *admission) memlock() {
	status, reason := nodesUnlock(a)
	switch {
	case a.Memlock == MemlockByNode:
		a.draft.Note("The pods add no capability: --memlock node says that the nodes let them lock memory.")
	case a.Memlock == MemlockByIPCLock:
		a.requireIPCLock()
	case status == check.Pass:
		a.draft.Note("The pods need no privileges: the container runtime of the nodes lets them lock memory (%s).",
			reason)
	case canAddIPCLock(a):
		a.ipcLock = true
		a.noteIPCLock(reason)
	default:
		a.cannotLock(status, reason)
	}
}

func (a *admission) noteIPCLock(reason string) {
	allowed := "namespace " + a.Job.Namespace + " allows it. " +
		"If the nodes already lift the limit, use --memlock node, and the pods need neither."
	if a.scc != "" {
		allowed = "SCC " + a.scc + " allows it. " +
			"`railhead setup cluster` lifts the limit on the nodes; then the pods need neither."
	}
	a.draft.Note("The pods run as root with the capability IPC_LOCK, so that RDMA can lock memory: %s, and %s",
		reason, allowed)
}

// cannotLock adds a finding: RDMA may not be able to lock enough memory.
func (a *admission) cannotLock(status check.Status, reason string) {
	openshift := a.s.Server.OpenShift()
	denied := fmt.Sprintf("service account %s may not add IPC_LOCK", a.accountName())
	if !a.sccsKnown() {
		status = check.Unknown
		denied = fmt.Sprintf("whether service account %s may add IPC_LOCK could not be read", a.accountName())
	}
	commands := []string{"railhead setup cluster", allowIPCLockCommand(a)}
	switch {
	case openshift && a.strict():
		commands[1] = privilegedLevelCommand(a)
	case !openshift:
		commands = []string{
			a.Job.CommandWith("--memlock node"), "railhead setup namespace " + a.Job.Namespace + " --allow-ipc-lock",
		}
	}
	if !openshift || a.strict() {
		denied = fmt.Sprintf("namespace %s enforces Pod Security level %s",
			a.Job.Namespace, cmp.Or(a.level, "unknown"))
	}
	fix := check.ByAdmin("Lift the limit on the nodes, or allow the capability. "+
		"If the nodes already lift the limit, use --memlock node.", commands...)
	if account := lockingAccount(a); account != "" {
		fix = check.ByUser("Use --service-account " + account + ", whose pods may add IPC_LOCK.")
	}
	a.draft.Report(check.Finding{
		Check: PodMemlock, Status: status, Subject: a.Job.Ref(),
		Summary:  "the pods may be unable to lock the memory that RDMA registers: " + reason + ", and " + denied,
		Evidence: check.Observed("nodes", reason, "memlock unlimited, or an SCC with IPC_LOCK and RunAsAny"),
		Fix:      fix,
	})
}

// lockingAccount returns a service account of the namespace with which the pods may add IPC_LOCK; "" if there is none.
func lockingAccount(a *admission) string {
	for _, account := range a.s.ServiceAccounts {
		other := *a
		other.Account = account.Name
		if account.Namespace == a.Job.Namespace && a.s.Server.OpenShift() && canAddIPCLock(&other) {
			return account.Name
		}
	}
	return ""
}

// NotRoot returns the finding that a setting keeps the pods from being root on the node, which IPC_LOCK needs.
func NotRoot(server cluster.Server, job plan.Target, subject, source, got, want string) check.Finding {
	fix := check.ByAdmin("Lift the memlock limit on the nodes, so that the pods need no capability; " +
		"if the nodes already lift it, use --memlock node. Or let the pods run as root.")
	if server.Serves(cluster.MachineConfigGroup) {
		fix.Commands = []string{"railhead setup cluster"}
	}
	return plan.Failure(PodMemlock, job.Ref(),
		fmt.Sprintf("%s cannot lock the memory that RDMA registers: "+
			"the capability IPC_LOCK works only for root of the node, but %s is %s", subject, source, got),
		check.Observed(source, got, want+", or nodes that lift the memlock limit"), fix)
}

// nodesUnlock reports whether the container runtime of the candidates lets containers lock all memory: Pass, Fail or
// Unknown, with the reason.
func nodesUnlock(a *admission) (check.Status, string) {
	switch {
	case !a.s.Server.Serves(cluster.MachineConfigGroup):
		return check.Unknown, "whether the container runtime of the nodes lifts the memlock limit is unknown"
	case !a.s.Knows(cluster.Nodes) || !a.s.Knows(cluster.Pools):
		return check.Unknown, "the pools of the nodes could not be read"
	case len(a.Nodes) == 0:
		return check.Unknown, "no node can run a pod"
	case !slices.ContainsFunc(a.Nodes, func(n cluster.Node) bool { return !unlockedBySetup(a.s, n) }):
		return check.Pass, "the MachineConfig of `railhead setup cluster`"
	case !a.s.Knows(cluster.MachineConfigs):
		return check.Unknown, "the MachineConfigs of the nodes could not be read"
	}
	var locked, unread []string
	config := ""
	for _, n := range a.Nodes {
		pool, names := runningConfigs(a.s, n)
		notRun := func(m cluster.MachineConfig) bool { return !slices.Contains(names, m.Name) }
		configs := slices.DeleteFunc(plan.SelectedConfigs(pool, a.s.MachineConfigs), notRun)
		switch u := plan.UlimitsOf(plan.CRIOFiles(configs)); {
		case len(u.Unread) > 0:
			unread = append(unread, n.Name)
		case !u.MemlockUnlimited():
			locked = append(locked, n.Name)
		default:
			config = u.From.Config
		}
	}
	switch {
	case len(locked) > 0:
		return check.Fail, "no MachineConfig lifts the memlock limit on " + words.Few(locked, 4)
	case len(unread) > 0:
		return check.Unknown, "the CRI-O configuration of " + words.Few(unread, 4) + " could not be read"
	}
	return check.Pass, "MachineConfig " + config
}

// unlockedBySetup reports whether a node runs the MachineConfig of setup that lets containers lock memory.
func unlockedBySetup(s cluster.State, n cluster.Node) bool {
	pool, names := runningConfigs(s, n)
	return slices.Contains(names, plan.MemlockConfig(pool.Name))
}

// runningConfigs returns the pool of a node, and the names of the MachineConfigs that the node runs now.
func runningConfigs(s cluster.State, n cluster.Node) (cluster.Pool, []string) {
	pool, _ := s.PoolOf(n)
	if n.MachineConfig.Current != "" && n.MachineConfig.Current == pool.Target {
		return pool, pool.TargetSources
	}
	return pool, pool.CurrentSources
}

// canAddIPCLock reports whether the pods are admitted with IPC_LOCK, and pins the SCC that admits them. On OpenShift,
// both Pod Security and SCCs apply, if the namespace has a level.
func canAddIPCLock(a *admission) bool {
	switch {
	case a.strict():
		return false
	case !a.s.Server.OpenShift():
		return a.s.Knows(cluster.Namespaces)
	}
	return a.pinIPCLockSCC()
}

// requireIPCLock adds the capability because the user asked for it.
func (a *admission) requireIPCLock() {
	a.ipcLock = true
	a.requireLevel("the capability IPC_LOCK")
	if !a.s.Server.OpenShift() {
		return
	}
	if !a.pinIPCLockSCC() && a.SCC == "" {
		a.noSCC("IPC_LOCK and root", allowIPCLockCommand(a))
	}
	a.draft.Note("The pods run as root with the capability IPC_LOCK, because of --memlock ipc-lock.")
}

func allowIPCLockCommand(a *admission) string {
	return "railhead setup cluster --allow-ipc-lock && " + a.Job.SetUpCommand()
}

// pinIPCLockSCC pins an SCC that admits pods with IPC_LOCK as root, if possible one that allows their volumes; false if
// none does.
func (a *admission) pinIPCLockSCC() bool {
	fits := func(c cluster.SCC) bool { return allowsIPCLock(c) && (!c.Privileged || c.Name == a.SCC) }
	both := func(c cluster.SCC) bool { return fits(c) && allowsVolumes(a, c) }
	a.scc = cmp.Or(grantedSCC(a, both), grantedSCC(a, fits))
	return a.scc != ""
}

// allowsIPCLock reports whether pods under the SCC can lock memory: the capability works for root only.
func allowsIPCLock(c cluster.SCC) bool {
	return c.AllowsCapability(plan.CapIPCLock) && c.RunAsUser == "RunAsAny"
}
