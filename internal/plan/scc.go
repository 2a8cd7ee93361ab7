package plan

import "github.com/railhead/railhead/internal/cluster"

// EnforceLabel is the label of the Pod Security level that a namespace holds pods to (pod-security-admission
// api/constants.go).
const EnforceLabel = "pod-security.kubernetes.io/enforce"

// DefaultJob is the job for which a namespace is set up when none is named: jobs without an account of their own take
// its.
const DefaultJob = "railhead"

// SCCName is the security context constraint that `setup cluster` makes.
const SCCName = "railhead-rdma"

// SCCRole is the cluster role that gives the right to use an SCC, by the name that `oc adm policy add-scc-to-user`
// gives it (openshift/oc pkg/cli/admin/policy/modify_scc.go).
func SCCRole(scc string) string { return "system:openshift:scc:" + scc }

// CapIPCLock is the capability that lifts the locked-memory limit, as Kubernetes spells it.
const CapIPCLock = "IPC_LOCK"

// ImageVolumesMinor is the Kubernetes minor version from which volumes of kind image can be used (1.33: beta). SCCs
// of older servers do not know the kind.
const ImageVolumesMinor = 33

// SCCRules are the rules of a role that gives the right to use an SCC.
func SCCRules(scc string) []any {
	return []any{map[string]any{
		"apiGroups": []any{cluster.SecurityGroup}, "resources": []any{"securitycontextconstraints"},
		"resourceNames": []any{scc}, "verbs": []any{"use"},
	}}
}
