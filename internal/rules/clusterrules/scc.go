package clusterrules

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/rules/pods"
	"github.com/railhead/railhead/internal/words"
)

// powerful reports whether an SCC lets pods see or lock more than their own resources, unlike the restricted ones.
func powerful(c cluster.SCC) bool {
	return c.Privileged || c.HostNetwork || c.HostPath || c.AllowsCapability("IPC_LOCK") ||
		c.AllowsCapability("SYS_RESOURCE")
}

// sccGranted checks that service accounts whose pods were refused may use an SCC for RDMA. Pods that run were admitted.
func sccGranted(v view) []check.Finding {
	sccs := v.state.SCCsForRDMA()
	if len(sccs) == 0 {
		return nil
	}
	var findings []check.Finding
	for _, account := range refusedAccounts(v.pods) {
		granted := func(scc string) bool { return len(v.state.GrantsTo(scc, account.Namespace, account.Name)) > 0 }
		if !slices.ContainsFunc(sccs, granted) {
			findings = append(findings, notGranted(account, sccs))
		}
	}
	return findings
}

func notGranted(account check.Ref, sccs []string) check.Finding {
	all := strings.Join(sccs, ", ")
	return check.Finding{
		Check: SCCGranted, Status: check.Warn, Subject: account,
		Summary: fmt.Sprintf("service account %s of namespace %s may use none of the SCCs for RDMA (%s): pods that "+
			"need one are refused", account.Name, account.Namespace, all),
		Evidence: check.Observed("role bindings that grant "+all,
			"none to "+account.Name, "one in namespace "+account.Namespace),
		Fix: pods.GrantSCC(sccs[0], account.Namespace, account.Name),
	}
}

func refusedBySCC(f check.Finding) bool {
	return f.Check == pods.SCCIPCLock || f.Check == pods.SCCOther
}

// refusedAccounts returns the service accounts whose pods no SCC admits.
func refusedAccounts(findings []check.Finding) []check.Ref {
	var accounts []check.Ref
	for _, f := range findings {
		for _, ref := range f.About {
			if refusedBySCC(f) && ref.Kind == check.ServiceAccount && !slices.Contains(accounts, ref) {
				accounts = append(accounts, ref)
			}
		}
	}
	return accounts
}

// everyone lists the groups of all users or all service accounts.
var everyone = []string{"Group/system:authenticated", "Group/system:unauthenticated", "Group/system:serviceaccounts"}

// sccScope finds SCCs with rights beyond the restricted ones that are granted to everyone, or to a service account by a
// cluster role binding, as `oc adm policy add-scc-to-user` without -n creates (openshift/oc
// pkg/cli/admin/policy/modify_scc.go). It leaves out grants of the platform to itself.
func sccScope(v view) []check.Finding {
	rdma, wide := v.state.SCCsForRDMA(), map[string][]cluster.SCCGrant{}
	for _, g := range v.state.SCCGrants {
		scc, known := v.state.SCC(g.SCC)
		if g.Namespace != "" || !known || !powerful(scc) {
			continue
		}
		ours := userAccount(g) && (slices.Contains(rdma, g.SCC) || v.inQuestion(g))
		if ours || slices.Contains(everyone, g.Subject) {
			wide[g.SCC] = append(wide[g.SCC], g)
		}
	}
	var findings []check.Finding
	for _, scc := range v.state.SCCs {
		if grants := wide[scc.Name]; len(grants) > 0 {
			findings = append(findings, tooWide(scc.Name, grants))
		}
	}
	return findings
}

// grantee returns the namespace of the service accounts that a grant is to; "" if it is not to service accounts.
func grantee(g cluster.SCCGrant) (namespace string) {
	for _, prefix := range []string{"ServiceAccount/", "User/system:serviceaccount:", "Group/system:serviceaccounts:"} {
		if rest, ok := strings.CutPrefix(g.Subject, prefix); ok {
			namespace, _, _ = strings.Cut(strings.ReplaceAll(rest, ":", "/"), "/")
			return namespace
		}
	}
	return ""
}

// inQuestion reports whether a grant is to service accounts in a namespace of the pods in question. Operators in other
// namespaces need their grants.
func (v view) inQuestion(g cluster.SCCGrant) bool {
	namespace := grantee(g)
	return slices.ContainsFunc(detailed(v.state), func(p cluster.Pod) bool { return p.Namespace == namespace })
}

// userAccount reports whether a grant for the whole cluster is to service accounts that are not the platform's.
func userAccount(g cluster.SCCGrant) bool {
	namespace := grantee(g)
	platform := strings.HasPrefix(namespace, "openshift") || strings.HasPrefix(namespace, "kube-")
	return strings.HasPrefix(g.By, "ClusterRoleBinding/") && namespace != "" && !platform
}

func tooWide(scc string, grants []cluster.SCCGrant) check.Finding {
	f := check.Finding{
		Check: SCCScope, Status: check.Warn, Subject: check.Named(check.SCC, scc),
		Fix: check.ByAdmin("Revoke the grant, and grant the SCC in the namespaces that need it."),
	}
	var grantees []string
	for _, g := range grants {
		grantees = append(grantees, g.Subject)
		f.Evidence = append(f.Evidence, check.Evidence{
			Source: g.By,
			Got:    scc + " to " + g.Subject + " in all namespaces",
			Want:   "a RoleBinding in one",
		})
		if kind, name, ok := strings.Cut(g.By, "/"); ok && kind == "ClusterRoleBinding" {
			f.Fix.Commands = append(f.Fix.Commands, "oc delete clusterrolebinding "+name)
		}
	}
	var setup []string
	for _, g := range grants {
		setup = append(setup, "railhead setup namespace "+cmp.Or(grantee(g), "NAMESPACE"))
	}
	slices.Sort(f.Fix.Commands)
	slices.Sort(setup)
	f.Fix.Commands = append(slices.Compact(f.Fix.Commands), slices.Compact(setup)...)
	f.Summary = fmt.Sprintf("SCC %s is granted for the whole cluster to %s: it allows more than the restricted SCCs",
		scc, words.Few(grantees, 6))
	return f
}
