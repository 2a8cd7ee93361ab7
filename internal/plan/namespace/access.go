package namespace

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/rules/pods"
)

// access creates the namespace, the service account and its right to use the SCC.
func (d *draft) access() []plan.Change {
	var changes []plan.Change
	existing, exists := d.s.Namespace(d.Namespace)
	switch {
	case exists:
		d.judgeLevel(existing)
	case d.s.Knows(cluster.Namespaces):
		changes = append(changes, newNamespace(d))
	default:
		d.plan.Note("Namespaces could not be read: namespace %s is assumed to exist.", d.Namespace)
	}
	account := cluster.ServiceAccount{Namespace: d.Namespace, Name: d.account()}
	if !slices.Contains(d.s.ServiceAccounts, account) {
		object := plan.Typed(corev1.SchemeGroupVersion.WithKind("ServiceAccount"),
			&corev1.ServiceAccount{ObjectMeta: d.meta(d.account())})
		changes = append(changes, plan.ApplyIfChanged(d.s, object, "the account of the pods")...)
	}
	if d.s.Server.OpenShift() {
		changes = append(changes, d.grant()...)
	}
	return changes
}

// newNamespace creates the namespace. Outside OpenShift, which has SCCs, it sets a Pod Security level: baseline lets
// images run as root, as most training images do, and forbids what reaches the node, and IPC_LOCK
// (pod-security-admission policy/check_capabilities_baseline.go).
func newNamespace(d *draft) plan.Change {
	meta := d.meta(d.Namespace)
	meta.Namespace = ""
	switch {
	case d.s.Server.OpenShift():
	case d.AllowIPCLock:
		meta.Labels[plan.EnforceLabel] = "privileged"
		d.plan.Note("Namespace %s gets Pod Security level privileged, because the pods add IPC_LOCK: "+
			"everyone who may create pods in it may create privileged ones.", d.Namespace)
	default:
		meta.Labels[plan.EnforceLabel] = "baseline"
		d.plan.Note("Namespace %s gets Pod Security level baseline, so the nodes' container runtime must unlock "+
			"memory. If it does not, use --allow-ipc-lock.", d.Namespace)
	}
	object := plan.Typed(corev1.SchemeGroupVersion.WithKind("Namespace"), &corev1.Namespace{ObjectMeta: meta})
	return plan.Change{Verb: plan.Apply, Object: object, Why: "does not exist yet"}
}

// judgeLevel reports that the Pod Security level of an existing namespace is too strict. Setup never changes it.
func (d *draft) judgeLevel(n cluster.Namespace) {
	level := n.Labels[plan.EnforceLabel]
	if d.s.Server.OpenShift() || !d.AllowIPCLock || level == "" || level == "privileged" {
		return
	}
	d.plan.Fail(pods.PodSecurity, check.Named(check.Namespace, n.Name),
		fmt.Sprintf("namespace %s enforces Pod Security level %s, which forbids IPC_LOCK", n.Name, level),
		check.Observed("label "+plan.EnforceLabel, level, "privileged"),
		check.ByAdmin("Change the level, if everyone who may create pods in the namespace may have that right.",
			fmt.Sprintf("kubectl label --overwrite namespace %s %s=privileged", n.Name, plan.EnforceLabel)))
}

// grant binds the account to the SCC in this namespace only. The binding does not have the name that `oc adm policy`
// uses: an apply would replace the subjects of that binding.
func (d *draft) grant() []plan.Change {
	account, scc := d.account(), d.SCC
	if grants := d.s.GrantsTo(scc, d.Namespace, account); len(grants) > 0 {
		d.plan.Note("Service account %s may already use SCC %s, through %s.", account, scc, grants[0].By)
		return nil
	}
	meta := d.meta(account + "-scc-" + scc)
	binding := rbacv1.RoleBinding{
		ObjectMeta: meta,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: plan.SCCRole(scc)},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: account, Namespace: d.Namespace}},
	}
	var changes []plan.Change
	if scc != plan.SCCName && !slices.Contains(standardSCCs, scc) {
		binding.RoleRef.Kind, binding.RoleRef.Name = "Role", meta.Name
		role := plan.Typed(rbacv1.SchemeGroupVersion.WithKind("Role"),
			&rbacv1.Role{ObjectMeta: meta, Rules: plan.SCCRules(scc)})
		changes = plan.ApplyIfChanged(d.s, role, "permits the use of SCC "+scc+", which may have no cluster role")
	}
	object := plan.Typed(rbacv1.SchemeGroupVersion.WithKind("RoleBinding"), &binding)
	why := "lets " + account + " use SCC " + scc + " in this namespace only"
	return append(changes, plan.ApplyIfChanged(d.s, object, why)...)
}

// standardSCCs are OpenShift's own, which have cluster roles (openshift/cluster-kube-apiserver-operator
// bindata/bootkube/scc-manifests).
var standardSCCs = []string{
	"anyuid", "hostaccess", "hostmount-anyuid", "hostmount-anyuid-v2", "hostnetwork", "hostnetwork-v2",
	"nested-container", "nonroot", "nonroot-v2", "privileged", "restricted", "restricted-v2", "restricted-v3",
}
