package job

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/rules/pods"
)

// privileges chooses the least privileges with which the pods, whose account is known, can lock memory on this cluster.
func (j *admission) privileges() {
	switch {
	case j.Privileged:
		j.requirePrivileged()
	case j.rdma() && len(j.rails) > 0:
		j.memlock()
	case j.Memlock == MemlockByIPCLock:
		j.requireIPCLock()
	}
	if user := j.RunAsUser; j.ipcLock && user != nil && *user != 0 {
		j.notRoot("the pods", "--run-as-user", strconv.FormatInt(*user, 10), "0, or none")
	}
	j.scc = cmp.Or(j.scc, j.SCC)
	j.requireVolumes()
	j.requireUser()
	if j.s.Server.OpenShift() && j.scc != "" {
		j.checkSCC()
	}
}

// requireUser checks whether pods may run as the user of --run-as-user. checkSCC checks a pinned SCC.
func (j *admission) requireUser() {
	if j.RunAsUser == nil {
		return
	}
	if *j.RunAsUser == 0 && j.level() == "restricted" {
		j.requireLevel("root")
	}
	if !j.s.Server.OpenShift() || j.scc != "" || j.granted(j.allowsUser) != "" {
		return
	}
	j.noSCC(fmt.Sprintf("user %d", *j.RunAsUser),
		fmt.Sprintf("oc adm policy add-scc-to-user anyuid -z %s -n %s", j.accountName(), j.Namespace))
}

// allowsUser reports whether the pods may run as their user under an SCC.
func (j *admission) allowsUser(c cluster.SCC) bool {
	n, _ := j.s.Namespace(j.Namespace)
	return j.RunAsUser == nil || c.AllowsUser(*j.RunAsUser, n)
}

// serviceAccount chooses the account of the pods.
func (j *admission) serviceAccount() {
	var existing []string
	for _, a := range j.s.ServiceAccounts {
		if a.Namespace == j.Namespace {
			existing = append(existing, a.Name)
		}
	}
	slices.Sort(existing)
	known, own := j.s.Knows(cluster.ServiceAccounts), j.Name+"-sa"
	switch {
	case j.ServiceAccount != "":
		j.account = j.ServiceAccount
		if known && !slices.Contains(existing, j.account) {
			j.Fail(ServiceAccount, j.accountRef(),
				fmt.Sprintf("namespace %s has no service account %s", j.Namespace, j.account),
				check.Observed("serviceaccounts of "+j.Namespace, plan.OrNone(existing), j.account),
				check.ByAdmin("Set up the namespace; this creates the account.", j.target().SetUpCommand()))
		}
	case slices.Contains(existing, own):
		j.account = own
	case slices.Contains(existing, plan.DefaultJob+"-sa"):
		j.account = plan.DefaultJob + "-sa"
	case !known && j.s.Server.OpenShift():
		j.account = own
		j.Unknown(j.s, ServiceAccount, cluster.ServiceAccounts,
			fmt.Sprintf("whether namespace %s has service account %s is unknown", j.Namespace, own))
	}
}

func (j *admission) accountName() string { return cmp.Or(j.account, "default") }

func (j *admission) accountRef() check.Ref {
	return check.Ref{Kind: check.ServiceAccount, Namespace: j.Namespace, Name: j.accountName()}
}

// requirePrivileged checks whether privileged pods are admitted.
func (j *admission) requirePrivileged() {
	j.Note("The pods are privileged: they can use every device of the node, " +
		"and a process that escapes is root on the node. RDMA does not need this.")
	j.requireLevel("privileged containers")
	if !j.s.Server.OpenShift() {
		return
	}
	j.scc = j.granted(func(c cluster.SCC) bool { return c.Privileged && c.RunAsUser == "RunAsAny" })
	if j.scc == "" && j.SCC == "" {
		j.noSCC("privileged containers",
			fmt.Sprintf("oc adm policy add-scc-to-user privileged -z %s -n %s", j.accountName(), j.Namespace))
	}
}

// level returns the Pod Security level that the namespace enforces; "" if none.
func (j *request) level() string {
	n, _ := j.s.Namespace(j.Namespace)
	return n.Labels[plan.EnforceLabel]
}

// strict reports whether the namespace is known to enforce a level other than privileged.
func (j *request) strict() bool { return j.level() != "" && j.level() != "privileged" }

// requireLevel fails if the namespace enforces a level that forbids a setting.
func (j *request) requireLevel(setting string) {
	if !j.strict() {
		return
	}
	j.Fail(pods.PodSecurity, j.target().NamespaceRef(),
		fmt.Sprintf("namespace %s enforces Pod Security level %s, which forbids %s", j.Namespace, j.level(), setting),
		check.Observed("label "+plan.EnforceLabel, j.level(), "privileged"),
		check.ByAdmin("Set the level that the pods need.", j.privilegedLevelCommand()))
}

func (j *request) privilegedLevelCommand() string {
	return fmt.Sprintf("kubectl label --overwrite namespace %s %s=privileged", j.Namespace, plan.EnforceLabel)
}

// podSecurity returns the security context of the pods, as restricted-v2 and the level restricted require it. Another
// SCC may forbid the seccomp field, and chooses the user itself
// (apiserver-library-go pkg/securitycontextconstraints/seccomp/strategy.go); the level restricted requires it.
func (j *admission) podSecurity() *corev1.PodSecurityContext {
	security := corev1.PodSecurityContext{RunAsUser: j.RunAsUser}
	if !j.s.Server.OpenShift() || j.scc == "" || j.scc == plan.SCCName || j.level() == "restricted" {
		security.SeccompProfile = runtimeDefault()
		if j.noRoot() {
			security.RunAsNonRoot = new(true)
		}
	}
	if security.RunAsUser == nil && security.SeccompProfile == nil {
		return nil
	}
	return &security
}

func runtimeDefault() *corev1.SeccompProfile {
	return &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}
}

// noRoot reports whether the pods set runAsNonRoot. They do not where the image keeps its user, because an image of
// root would not start: outside OpenShift, unless the namespace forbids root, and under an SCC with RunAsAny. Without a
// pinned SCC, OpenShift takes the most restrictive one that admits the pod, which sets a user.
func (j *admission) noRoot() bool {
	switch {
	case j.ipcLock || j.Privileged || j.RunAsUser != nil && *j.RunAsUser == 0:
		return false
	case j.level() == "restricted":
		return true
	case !j.s.Server.OpenShift():
		return false
	}
	pinned, known := j.s.SCC(j.scc)
	return j.scc == "" || known && pinned.RunAsUser != "RunAsAny"
}

// security returns the security context of the container that trains.
func (j *admission) security() *corev1.SecurityContext {
	if j.Privileged { // capabilities work for root only
		return &corev1.SecurityContext{Privileged: new(true), RunAsUser: new(int64(0))}
	}
	return unprivileged()
}

// unprivileged returns the security context of a container without capabilities.
func unprivileged() *corev1.SecurityContext {
	return &corev1.SecurityContext{
		AllowPrivilegeEscalation: new(false),
		Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
}
