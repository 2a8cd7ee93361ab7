package access

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/rules/pods"
)

// strict reports whether the namespace is known to enforce a level other than privileged.
func (a *admission) strict() bool { return a.level != "" && a.level != "privileged" }

// requireLevel fails if the namespace enforces a level that forbids a setting.
func (a *admission) requireLevel(setting string) {
	if !a.strict() {
		return
	}
	a.draft.Fail(pods.PodSecurity, a.Job.NamespaceRef(),
		fmt.Sprintf("namespace %s enforces Pod Security level %s, which forbids %s",
			a.Job.Namespace, a.level, setting),
		check.Observed("label "+plan.EnforceLabel, a.level, "privileged"),
		check.ByAdmin("Set the level that the pods need.", privilegedLevelCommand(a)))
}

func privilegedLevelCommand(a *admission) string {
	return fmt.Sprintf("kubectl label --overwrite namespace %s %s=privileged", a.Job.Namespace, plan.EnforceLabel)
}

// podSecurity returns the security context of the pods, as restricted-v2 and the level restricted require it. Another
// SCC may forbid the seccomp field, and chooses the user itself
// (apiserver-library-go pkg/securitycontextconstraints/seccomp/strategy.go); the level restricted requires it.
func (a *admission) podSecurity() *corev1.PodSecurityContext {
	security := corev1.PodSecurityContext{RunAsUser: a.RunAsUser}
	if !a.s.Server.OpenShift() || a.scc == "" || a.scc == plan.SCCName || a.level == "restricted" {
		security.SeccompProfile = &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}
		if a.noRoot() {
			security.RunAsNonRoot = new(true)
		}
	}
	if security.RunAsUser == nil && security.SeccompProfile == nil {
		return nil
	}
	return &security
}

// noRoot reports whether the pods set runAsNonRoot. They do not where the image keeps its user, because an image of
// root would not start: outside OpenShift, unless the namespace forbids root, and under an SCC with RunAsAny. Without a
// pinned SCC, OpenShift takes the most restrictive one that admits the pod, which sets a user.
func (a *admission) noRoot() bool {
	switch {
	case a.ipcLock || a.Privileged || a.RunAsUser != nil && *a.RunAsUser == 0:
		return false
	case a.level == "restricted":
		return true
	case !a.s.Server.OpenShift():
		return false
	}
	pinned, known := a.s.SCC(a.scc)
	return a.scc == "" || known && pinned.RunAsUser != "RunAsAny"
}

// security returns the security context of the container that trains.
func (a *admission) security() *corev1.SecurityContext {
	if a.Privileged { // capabilities work for root only
		return &corev1.SecurityContext{Privileged: new(true), RunAsUser: new(int64(0))}
	}
	return Unprivileged()
}

// Unprivileged returns the security context of a container without capabilities.
func Unprivileged() *corev1.SecurityContext {
	return &corev1.SecurityContext{
		AllowPrivilegeEscalation: new(false),
		Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
}
