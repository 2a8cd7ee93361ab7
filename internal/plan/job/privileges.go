package job

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/rules/pods"
)

// privileges decides on the pods' privileges: only those that this cluster's way of unlocking memory needs.
func (j *admission) privileges() {
	j.serviceAccount()
	switch {
	case j.o.Privileged:
		j.note("The pods are privileged: they see every HCA of the node and every other device, and whoever breaks out of one is root on the node. RDMA needs nothing of that.")
		j.privileged()
	case j.rdma() && len(j.rails) > 0:
		j.memlock()
	case j.o.Memlock == MemlockByIPCLock:
		j.ipcLock = true
		j.lockable()
	}
	if user := j.o.RunAsUser; j.ipcLock && user != nil && *user != 0 {
		j.notRoot("the pods", "--run-as-user", fmt.Sprint(*user), "0, or none")
	}
	if j.scc == "" {
		j.scc = j.o.SCC
	}
	if j.s.Server.OpenShift() && j.scc != "" {
		j.usable()
	}
}

// serviceAccount settles under which account the pods run.
func (j *admission) serviceAccount() {
	known := j.s.Knows(cluster.ServiceAccounts)
	if j.o.ServiceAccount != "" {
		j.account = j.o.ServiceAccount
		if known && !j.hasAccount(j.account) {
			j.noAccount(j.account)
		}
		return
	}
	for _, name := range []string{j.o.Name + "-sa", plan.DefaultJob + "-sa"} {
		if j.hasAccount(name) {
			j.account = name
			return
		}
	}
	if !known && j.s.Server.OpenShift() {
		j.account = j.o.Name + "-sa"
		j.unknown(
			ServiceAccount, cluster.ServiceAccounts,
			fmt.Sprintf("whether namespace %s has the service account %s is not known", j.o.Namespace, j.account),
		)
	}
}

func (j *admission) hasAccount(name string) bool {
	return slices.Contains(j.s.ServiceAccounts, cluster.ServiceAccount{Namespace: j.o.Namespace, Name: name})
}

func (j *admission) noAccount(name string) {
	var has []string
	for _, a := range j.s.ServiceAccounts {
		if a.Namespace == j.o.Namespace {
			has = append(has, a.Name)
		}
	}
	slices.Sort(has)
	j.fail(ServiceAccount, check.Ref{
		Kind:      check.ServiceAccount,
		Namespace: j.o.Namespace,
		Name:      name,
	}, fmt.Sprintf("namespace %s has no service account %s", j.o.Namespace, name),
		check.Evidence{
			Source: "serviceaccounts of " + j.o.Namespace,
			Got:    cmp.Or(strings.Join(has, ", "), "none"),
			Want:   name,
		},
		check.Fix{
			Text:     "Set the namespace up: that makes the account.",
			Who:      check.Admin,
			Commands: []string{j.setUp()},
		})
}

// setUp is the command that sets the job's namespace up.
func (j *request) setUp() string {
	command := fmt.Sprintf("railhead setup namespace %s --name %s", j.o.Namespace, j.o.Name)
	if j.o.SCC != "" {
		command += " --scc " + j.o.SCC
	}
	return command
}

func (j *admission) accountName() string { return cmp.Or(j.account, "default") }

// lockable judges pods that were told to use IPC_LOCK.
func (j *admission) lockable() {
	j.levelAllows("the capability IPC_LOCK")
	if !j.s.Server.OpenShift() {
		return
	}
	if !j.lockingSCC() && j.o.SCC == "" {
		j.noSCC("IPC_LOCK and root", "railhead setup cluster --allow-ipc-lock && "+j.setUp())
	}
	j.note("The pods run as root with the capability IPC_LOCK, as asked for.")
}

// privileged judges pods that were told to be privileged.
func (j *admission) privileged() {
	j.levelAllows("privileged containers")
	if !j.s.Server.OpenShift() {
		return
	}
	j.scc = j.granted(func(c cluster.SCC) bool { return c.Privileged && c.RunAsUser == "RunAsAny" })
	if j.scc == "" && j.o.SCC == "" {
		j.noSCC(
			"privileged containers",
			fmt.Sprintf("oc adm policy add-scc-to-user privileged -z %s -n %s", j.accountName(), j.o.Namespace),
		)
	}
}

func (j *request) level() string {
	n, _ := j.s.Namespace(j.o.Namespace)
	return n.Labels[plan.EnforceLabel]
}

// strict reports whether the namespace holds pods to a level below privileged, as it is known.
func (j *request) strict() bool { return j.level() != "" && j.level() != "privileged" }

// levelAllows judges settings that only the level privileged allows.
func (j *request) levelAllows(what string) {
	if level := j.level(); j.strict() {
		j.fail(pods.PodSecurity, check.Named(
			check.Namespace, j.o.Namespace,
		), fmt.Sprintf("namespace %s enforces Pod Security level %s, which forbids %s", j.o.Namespace, level, what),
			check.Evidence{Source: "label " + plan.EnforceLabel, Got: level, Want: "privileged"},
			check.Fix{
				Text:     "Let the namespace enforce the level that the pods need.",
				Who:      check.Admin,
				Commands: []string{j.loosen()},
			})
	}
}

// loosen is the command by which the namespace's level no longer stands against its pods.
func (j *request) loosen() string {
	return fmt.Sprintf("kubectl label --overwrite namespace %s %s=privileged", j.o.Namespace, plan.EnforceLabel)
}

// podSecurity is the pods' security context, as restricted-v2 and the level restricted require it, so that nothing
// wider is taken. An SCC that is somebody else's may forbid to set seccomp at all, and gives users its own way
// (apiserver-library-go pkg/securitycontextconstraints/seccomp/strategy.go); the level restricted admits no pod
// without it.
func (j *admission) podSecurity() *corev1.PodSecurityContext {
	security := corev1.PodSecurityContext{RunAsUser: j.o.RunAsUser}
	set := j.o.RunAsUser != nil
	if !j.s.Server.OpenShift() || j.scc == "" || j.scc == plan.SCCName || j.level() == "restricted" {
		security.SeccompProfile, set = runtimeDefault(), true
		if j.noRoot() {
			security.RunAsNonRoot = new(true)
		}
	}
	if !set {
		return nil
	}
	return &security
}

func runtimeDefault() *corev1.SeccompProfile {
	return &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}
}

// noRoot reports whether the pods say that they are not root. An image keeps its user where nothing gives pods another
// one: outside OpenShift, unless the namespace lets no pod be root; and under an SCC that runs as any, where an image
// whose user is root would not start. Without a pinned SCC the most restrictive that admits a pod is taken, which gives
// it a user.
func (j *admission) noRoot() bool {
	root := j.ipcLock || j.o.Privileged || j.o.RunAsUser != nil && *j.o.RunAsUser == 0
	switch {
	case root:
		return false
	case j.level() == "restricted":
		return true
	case !j.s.Server.OpenShift():
		return false
	}
	pinned, known := j.s.SCC(j.scc)
	return j.scc == "" || known && pinned.RunAsUser != "RunAsAny"
}

// security is the security context of the container that trains.
func (j *admission) security() *corev1.SecurityContext {
	if j.o.Privileged { // capabilities work for root only
		return &corev1.SecurityContext{Privileged: new(true), RunAsUser: new(int64(0))}
	}
	return unprivileged()
}

// unprivileged is the security context of a container without capabilities.
func unprivileged() *corev1.SecurityContext {
	return &corev1.SecurityContext{
		AllowPrivilegeEscalation: new(false),
		Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
}
