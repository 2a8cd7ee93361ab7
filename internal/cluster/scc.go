package cluster

import (
	"cmp"
	"fmt"
	"slices"
)

// RailheadSCC is the SCC that `railhead setup cluster` creates.
const RailheadSCC = "railhead-rdma"

// SCC is one SecurityContextConstraints object, as far as a training pod can collide with it.
type SCC struct {
	Name                     string   `json:"name"`
	Priority                 *int64   `json:"priority,omitempty"`
	Privileged               bool     `json:"allowPrivilegedContainer,omitempty"`
	HostNetwork              bool     `json:"allowHostNetwork,omitempty"`
	HostPath                 bool     `json:"allowHostDirVolumePlugin,omitempty"`
	AllowedCapabilities      []string `json:"allowedCapabilities,omitempty"`
	RequiredDropCapabilities []string `json:"requiredDropCapabilities,omitempty"`
	RunAsUser                string   `json:"runAsUser,omitempty"` // MustRunAsRange, RunAsAny, ...
	Volumes                  []string `json:"volumes,omitempty"`
	Users                    []string `json:"users,omitempty"`
	Groups                   []string `json:"groups,omitempty"`
}

// AllowsCapability reports whether pods under the SCC may add a capability.
func (c SCC) AllowsCapability(name string) bool {
	return slices.Contains(c.AllowedCapabilities, name) || slices.Contains(c.AllowedCapabilities, "*")
}

// uidRange is an annotation of namespaces with the users of their pods: first user, "/", number of users.
const uidRange = "openshift.io/sa.scc.uid-range"

// AllowsUser reports whether pods of a namespace under the SCC may run as a user. A user that nothing known forbids is
// allowed.
func (c SCC) AllowsUser(user int64, n Namespace) bool {
	switch c.RunAsUser {
	case "MustRunAsNonRoot":
		return user != 0
	case "MustRunAsRange":
		var first, count int64
		if _, err := fmt.Sscanf(n.Annotations[uidRange], "%d/%d", &first, &count); err == nil {
			return first <= user && user < first+count
		}
		return user != 0
	}
	return true
}

// AllowsVolume reports whether pods under the SCC may have a kind of volume.
func (c SCC) AllowsVolume(kind string) bool {
	return slices.Contains(c.Volumes, kind) || slices.Contains(c.Volumes, "*")
}

// SCCGrant is a right to use an SCC.
type SCCGrant struct {
	SCC       string `json:"scc"`                 // "*" for every SCC
	Subject   string `json:"subject"`             // ServiceAccount/train/h-kim-sa, User/x, Group/system:authenticated
	Namespace string `json:"namespace,omitempty"` // where it holds; empty: everywhere
	By        string `json:"by"`                  // RoleBinding/x, ClusterRoleBinding/y, the SCC itself
}

// GrantsTo returns the grants by which a service account may use an SCC in its namespace.
func (s State) GrantsTo(scc, namespace, serviceAccount string) []SCCGrant {
	subjects := []string{
		"ServiceAccount/" + namespace + "/" + serviceAccount,
		"User/system:serviceaccount:" + namespace + ":" + serviceAccount,
		"Group/system:serviceaccounts:" + namespace, "Group/system:serviceaccounts", "Group/system:authenticated",
	}
	var grants []SCCGrant
	for _, g := range s.SCCGrants {
		if (g.SCC == scc || g.SCC == "*") && (g.Namespace == "" || g.Namespace == namespace) &&
			slices.Contains(subjects, g.Subject) {
			grants = append(grants, g)
		}
	}
	return grants
}

// SCCsForRDMA returns the SCCs that let pods lock memory and not be privileged: Railhead's own first, then those with
// the fewest other rights.
func (s State) SCCsForRDMA() []string {
	rights := func(c SCC) int {
		n := len(c.AllowedCapabilities)
		for _, more := range []bool{c.Name != RailheadSCC, c.HostNetwork, c.HostPath, c.AllowsCapability("SYS_ADMIN")} {
			if more {
				n += 100
			}
		}
		return n
	}
	all := slices.DeleteFunc(slices.Clone(s.SCCs), func(c SCC) bool {
		return c.Privileged || !c.AllowsCapability("IPC_LOCK")
	})
	slices.SortStableFunc(all, func(a, b SCC) int { return cmp.Compare(rights(a), rights(b)) })
	var names []string
	for _, c := range all {
		names = append(names, c.Name)
	}
	return names
}
