package rules

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
)

// networkSelection is one element of the networks annotation in its JSON form.
type networkSelection struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
}

func networkSelections(text string) []networkSelection {
	var all []networkSelection
	if json.Unmarshal([]byte(text), &all) != nil {
		return nil // multus says so in an event of the pod
	}
	return all
}

// powerful reports whether an SCC lets pods do what the restricted ones do not: see, or lock, more than their own.
func powerful(c cluster.SCC) bool {
	return c.Privileged || c.AllowsCapability("IPC_LOCK") || c.AllowsCapability("SYS_RESOURCE") || c.HostNetwork || c.HostPath
}

// forRDMA are the SCCs that are there for RDMA: they allow IPC_LOCK, and no pod to be privileged.
func forRDMA(s cluster.State) []string {
	var all []string
	for _, c := range s.SCCs {
		if c.Name == "railhead-rdma" || !c.Privileged && c.AllowsCapability("IPC_LOCK") {
			all = append(all, c.Name)
		}
	}
	return all
}

// sccGranted: pods that run were admitted; of service accounts whose pods do not come yet it is asked whether they may use an
// SCC for RDMA.
func sccGranted(c clusterCase) []check.Finding {
	sccs := forRDMA(c.State)
	if len(sccs) == 0 {
		return nil
	}
	var findings []check.Finding
	for _, account := range waiting(c) {
		granted := slices.ContainsFunc(sccs, func(scc string) bool { return len(c.GrantsTo(scc, account.Namespace, account.Name)) > 0 })
		if granted {
			continue
		}
		findings = append(findings, check.Finding{
			Check: SCCGranted, Status: check.Warn, Subject: check.Subject("serviceaccount/" + account.Namespace + "/" + account.Name),
			Summary:  fmt.Sprintf("service account %s of namespace %s may use none of the SCCs for RDMA (%s): pods that need one are refused", account.Name, account.Namespace, strings.Join(sccs, ", ")),
			Evidence: []check.Evidence{{Source: "role bindings that grant " + strings.Join(sccs, ", "), Got: "none to " + account.Name, Want: "one in namespace " + account.Namespace}},
			Fix: &check.Fix{Text: "Grant it in this namespace: with -n, for without it the grant is for the whole cluster.", Who: check.Admin, Commands: []string{
				"railhead setup namespace " + account.Namespace,
				fmt.Sprintf("oc adm policy add-scc-to-user %s -z %s -n %s", sccs[0], account.Name, account.Namespace),
			}},
		})
	}
	return findings
}

// waiting are the service accounts whose pods were refused, as the events of their controllers say.
func waiting(c clusterCase) []cluster.ServiceAccount {
	refused := map[string]bool{}
	for _, f := range c.found[cluster.PodPending] {
		if f.Check == cluster.SCCIPCLock || f.Check == cluster.SCCOther {
			kind, rest, _ := strings.Cut(string(f.Subject), "/")
			if ns, _, ok := strings.Cut(rest, "/"); ok && (kind == "job" || kind == "pod") {
				refused[ns] = true
			}
		}
	}
	var all []cluster.ServiceAccount
	for _, o := range c.Objects {
		account := template(o.Fields)
		if refused[o.Namespace] && account != "" {
			a := cluster.ServiceAccount{Namespace: o.Namespace, Name: account}
			if !slices.Contains(all, a) {
				all = append(all, a)
			}
		}
	}
	return all
}

// template is the service account of a workload's pods.
func template(tree any) string {
	switch v := tree.(type) {
	case map[string]any:
		if name, ok := v["serviceAccountName"].(string); ok {
			return name
		}
		for _, below := range v {
			if name := template(below); name != "" {
				return name
			}
		}
	case []any:
		for _, below := range v {
			if name := template(below); name != "" {
				return name
			}
		}
	}
	return ""
}

// everyone are the groups that all users, or all service accounts, are in.
var everyone = []string{"Group/system:authenticated", "Group/system:unauthenticated", "Group/system:serviceaccounts"}

// sccScope: an SCC with rights beyond the restricted that is granted to everybody, or to a service account by a binding of the
// whole cluster, as `oc adm policy add-scc-to-user` without -n makes (openshift/oc pkg/cli/admin/policy/modify_scc.go). What the
// platform grants to its own is left alone.
func sccScope(c clusterCase) []check.Finding {
	rdma, wide := forRDMA(c.State), map[string][]cluster.SCCGrant{}
	for _, g := range c.SCCGrants {
		scc, there := c.SCC(g.SCC)
		if g.Namespace != "" || !there || !powerful(scc) {
			continue
		}
		if slices.Contains(everyone, g.Subject) || c.ofUsers(g) && (slices.Contains(rdma, g.SCC) || c.asked(g)) {
			wide[g.SCC] = append(wide[g.SCC], g)
		}
	}
	var findings []check.Finding
	for _, scc := range c.SCCs {
		if grants := wide[scc.Name]; len(grants) > 0 {
			findings = append(findings, tooWide(scc.Name, grants))
		}
	}
	return findings
}

// asked reports whether a grant is to a service account of a namespace whose pods were asked about. Operators of others need
// what they have.
func (c clusterCase) asked(g cluster.SCCGrant) bool {
	return slices.ContainsFunc(detailed(c.State), func(p cluster.Pod) bool {
		return strings.HasPrefix(g.Subject, "ServiceAccount/"+p.Namespace+"/") || g.Subject == "Group/system:serviceaccounts:"+p.Namespace ||
			strings.HasPrefix(g.Subject, "User/system:serviceaccount:"+p.Namespace+":")
	})
}

// ofUsers reports whether a grant for the whole cluster is to a service account, or to all of a namespace, that is no platform's.
func (c clusterCase) ofUsers(g cluster.SCCGrant) bool {
	ns := ""
	if rest, ok := strings.CutPrefix(g.Subject, "ServiceAccount/"); ok {
		ns, _, _ = strings.Cut(rest, "/")
	} else if rest, ok := strings.CutPrefix(g.Subject, "User/system:serviceaccount:"); ok {
		ns, _, _ = strings.Cut(rest, ":")
	} else if rest, ok := strings.CutPrefix(g.Subject, "Group/system:serviceaccounts:"); ok {
		ns = rest
	}
	own := strings.HasPrefix(g.By, "ClusterRoleBinding/")
	return own && ns != "" && !strings.HasPrefix(ns, "openshift") && !strings.HasPrefix(ns, "kube-")
}

func tooWide(scc string, grants []cluster.SCCGrant) check.Finding {
	f := check.Finding{
		Check: SCCScope, Status: check.Warn, Subject: check.Subject("scc/" + scc),
		Fix: &check.Fix{Text: "Take the grant back, and grant it in the namespaces that need it.", Who: check.Admin},
	}
	var who []string
	for _, g := range grants {
		who = append(who, g.Subject)
		f.Evidence = append(f.Evidence, check.Evidence{Source: g.By, Got: scc + " to " + g.Subject + " in all namespaces", Want: "a RoleBinding in one"})
		if kind, name, ok := strings.Cut(g.By, "/"); ok && kind == "ClusterRoleBinding" {
			f.Fix.Commands = append(f.Fix.Commands, "oc delete clusterrolebinding "+name)
		}
	}
	slices.Sort(f.Fix.Commands)
	f.Fix.Commands = append(slices.Compact(f.Fix.Commands), "railhead setup namespace NAMESPACE")
	f.Summary = fmt.Sprintf("SCC %s is granted for the whole cluster to %s: it lets pods do more than the restricted ones may", scc, some(who))
	return f
}
