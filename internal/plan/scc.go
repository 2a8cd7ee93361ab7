package plan

import (
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/railhead/railhead/internal/cluster"
)

// EnforceLabel is the label with the Pod Security level of a namespace (pod-security-admission api/constants.go).
const EnforceLabel = "pod-security.kubernetes.io/enforce"

// DefaultJob is the default job of `setup namespace`. Jobs without their own service account use its account.
const DefaultJob = "railhead"

// SCCName is the security context constraint that `setup cluster` creates.
const SCCName = cluster.RailheadSCC

// SCCRole returns the cluster role that allows the use of an SCC, named as by `oc adm policy add-scc-to-user`
// (openshift/oc pkg/cli/admin/policy/modify_scc.go).
func SCCRole(scc string) string { return "system:openshift:scc:" + scc }

// CapIPCLock is the capability that lifts the locked-memory limit, as Kubernetes spells it.
const CapIPCLock = "IPC_LOCK"

// ImageVolumesMinor is the first Kubernetes minor version with volumes of kind image (1.33: beta). SCCs of older
// servers do not know the kind.
const ImageVolumesMinor = 33

// SCCRules returns the rules of a role that allows the use of an SCC.
func SCCRules(scc string) []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{{
		APIGroups:     []string{cluster.SecurityGroup},
		Resources:     []string{"securitycontextconstraints"},
		ResourceNames: []string{scc},
		Verbs:         []string{"use"},
	}}
}
