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

// memlock chooses how the pods lock the memory that RDMA registers.
func (j *admission) memlock() {
	status, reason := j.nodesUnlock()
	switch {
	case j.Memlock == MemlockByNode:
		j.Note("The pods add no capability: --memlock node says that the nodes let them lock memory.")
	case j.Memlock == MemlockByIPCLock:
		j.requireIPCLock()
	case status == check.Pass:
		j.Note("The pods need no privileges: the container runtime of the nodes lets them lock memory (%s).", reason)
	case j.canAddIPCLock():
		j.ipcLock = true
		j.noteIPCLock(reason)
	default:
		j.cannotLock(status, reason)
	}
}

func (j *admission) noteIPCLock(reason string) {
	allowed := "namespace " + j.Namespace + " allows it. " +
		"If the nodes already lift the limit, use --memlock node, and the pods need neither."
	if j.scc != "" {
		allowed = "SCC " + j.scc + " allows it. " +
			"`railhead setup cluster` lifts the limit on the nodes; then the pods need neither."
	}
	j.Note("The pods run as root with the capability IPC_LOCK, so that RDMA can lock memory: %s, and %s",
		reason, allowed)
}

// cannotLock adds a finding: RDMA may not be able to lock enough memory.
func (j *admission) cannotLock(status check.Status, reason string) {
	openshift := j.s.Server.OpenShift()
	denied := fmt.Sprintf("service account %s may not add IPC_LOCK", j.accountName())
	if !j.sccsKnown() {
		status = check.Unknown
		denied = fmt.Sprintf("whether service account %s may add IPC_LOCK could not be read", j.accountName())
	}
	commands := []string{"railhead setup cluster", j.allowIPCLockCommand()}
	switch {
	case openshift && j.strict():
		commands[1] = j.privilegedLevelCommand()
	case !openshift:
		commands = []string{
			j.target().CommandWith("--memlock node"), "railhead setup namespace " + j.Namespace + " --allow-ipc-lock",
		}
	}
	if !openshift || j.strict() {
		denied = fmt.Sprintf("namespace %s enforces Pod Security level %s", j.Namespace, cmp.Or(j.level(), "unknown"))
	}
	fix := check.ByAdmin("Lift the limit on the nodes, or allow the capability. "+
		"If the nodes already lift the limit, use --memlock node.", commands...)
	if account := j.lockingAccount(); account != "" {
		fix = check.ByUser("Use --service-account " + account + ", whose pods may add IPC_LOCK.")
	}
	j.Report(check.Finding{
		Check:    PodMemlock,
		Status:   status,
		Subject:  j.target().Ref(),
		Summary:  "the pods may be unable to lock the memory that RDMA registers: " + reason + ", and " + denied,
		Evidence: check.Observed("nodes", reason, "memlock unlimited, or an SCC with IPC_LOCK and RunAsAny"),
		Fix:      fix,
	})
}

// lockingAccount returns a service account of the namespace with which the pods may add IPC_LOCK; "" if there is none.
func (j *admission) lockingAccount() string {
	for _, a := range j.s.ServiceAccounts {
		other := *j
		other.account = a.Name
		if a.Namespace == j.Namespace && j.s.Server.OpenShift() && other.canAddIPCLock() {
			return a.Name
		}
	}
	return ""
}

// notRoot fails because a setting keeps the pods from being root on the node, which IPC_LOCK needs.
func (j *admission) notRoot(subject, source, got, want string) {
	fix := check.ByAdmin("Lift the memlock limit on the nodes, so that the pods need no capability; " +
		"if the nodes already lift it, use --memlock node. Or let the pods run as root.")
	if j.s.Server.Serves(cluster.MachineConfigGroup) {
		fix.Commands = []string{"railhead setup cluster"}
	}
	j.Fail(PodMemlock, j.target().Ref(),
		fmt.Sprintf("%s cannot lock the memory that RDMA registers: "+
			"the capability IPC_LOCK works only for root of the node, but %s is %s", subject, source, got),
		check.Observed(source, got, want+", or nodes that lift the memlock limit"), fix)
}

// nodesUnlock reports whether the container runtime of the candidates lets containers lock all memory: Pass, Fail or
// Unknown, with the reason.
func (j *placement) nodesUnlock() (check.Status, string) {
	switch {
	case !j.s.Server.Serves(cluster.MachineConfigGroup):
		return check.Unknown, "whether the container runtime of the nodes lifts the memlock limit is unknown"
	case !j.s.Knows(cluster.Nodes) || !j.s.Knows(cluster.Pools):
		return check.Unknown, "the pools of the nodes could not be read"
	case len(j.candidates) == 0:
		return check.Unknown, "no node can run a pod"
	case !slices.ContainsFunc(j.candidates, func(n cluster.Node) bool { return !unlockedBySetup(j.s, n) }):
		return check.Pass, "the MachineConfig of `railhead setup cluster`"
	case !j.s.Knows(cluster.MachineConfigs):
		return check.Unknown, "the MachineConfigs of the nodes could not be read"
	}
	var locked, unread []string
	config := ""
	for _, n := range j.candidates {
		pool, names := runningConfigs(j.s, n)
		notRun := func(m cluster.MachineConfig) bool { return !slices.Contains(names, m.Name) }
		configs := slices.DeleteFunc(plan.SelectedConfigs(pool, j.s.MachineConfigs), notRun)
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
func (j *admission) canAddIPCLock() bool {
	switch {
	case j.strict():
		return false
	case !j.s.Server.OpenShift():
		return j.s.Knows(cluster.Namespaces)
	}
	return j.pinIPCLockSCC()
}

// requireIPCLock adds the capability because the user asked for it.
func (j *admission) requireIPCLock() {
	j.ipcLock = true
	j.requireLevel("the capability IPC_LOCK")
	if !j.s.Server.OpenShift() {
		return
	}
	if !j.pinIPCLockSCC() && j.SCC == "" {
		j.noSCC("IPC_LOCK and root", j.allowIPCLockCommand())
	}
	j.Note("The pods run as root with the capability IPC_LOCK, because of --memlock ipc-lock.")
}

func (j *request) allowIPCLockCommand() string {
	return "railhead setup cluster --allow-ipc-lock && " + j.target().SetUpCommand()
}

// pinIPCLockSCC pins an SCC that admits pods with IPC_LOCK as root, if possible one that allows their volumes; false if
// none does.
func (j *admission) pinIPCLockSCC() bool {
	fits := func(c cluster.SCC) bool { return allowsIPCLock(c) && (!c.Privileged || c.Name == j.SCC) }
	j.scc = cmp.Or(j.granted(func(c cluster.SCC) bool { return fits(c) && j.allowsVolumes(c) }), j.granted(fits))
	return j.scc != ""
}

// allowsIPCLock reports whether pods under the SCC can lock memory: the capability works for root only.
func allowsIPCLock(c cluster.SCC) bool {
	return c.AllowsCapability(plan.CapIPCLock) && c.RunAsUser == "RunAsAny"
}
