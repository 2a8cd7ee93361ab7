package kube

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/railhead/railhead/internal/cluster"
)

const resourceSCC = "securitycontextconstraints"

// securityContextConstraints has the fields that are read (openshift/api security/v1 types.go); they are at the top
// level.
type securityContextConstraints struct {
	metav1.ObjectMeta        `json:"metadata"`
	Priority                 *int64   `json:"priority"`
	AllowPrivilegedContainer bool     `json:"allowPrivilegedContainer"`
	AllowHostNetwork         bool     `json:"allowHostNetwork"`
	AllowHostDirVolumePlugin bool     `json:"allowHostDirVolumePlugin"`
	AllowedCapabilities      []string `json:"allowedCapabilities"`
	RequiredDropCapabilities []string `json:"requiredDropCapabilities"`
	RunAsUser                struct {
		Type string `json:"type"`
	} `json:"runAsUser"`
	Volumes []string `json:"volumes"`
	Users   []string `json:"users"`
	Groups  []string `json:"groups"`
}

func convertSCC(s *securityContextConstraints) cluster.SCC {
	return cluster.SCC{
		Name:                     s.Name,
		Priority:                 s.Priority,
		Privileged:               s.AllowPrivilegedContainer,
		HostNetwork:              s.AllowHostNetwork,
		HostPath:                 s.AllowHostDirVolumePlugin,
		AllowedCapabilities:      s.AllowedCapabilities,
		RequiredDropCapabilities: s.RequiredDropCapabilities,
		RunAsUser:                s.RunAsUser.Type,
		Volumes:                  s.Volumes,
		Users:                    s.Users,
		Groups:                   s.Groups,
	}
}

// rbacRole has the fields of a Role or ClusterRole that are read.
type rbacRole struct {
	metav1.ObjectMeta `json:"metadata"`
	Rules             []struct {
		Verbs         []string `json:"verbs"`
		APIGroups     []string `json:"apiGroups"`
		Resources     []string `json:"resources"`
		ResourceNames []string `json:"resourceNames"`
	} `json:"rules"`
}

// sccRole is a role that lets its subjects use SCCs.
type sccRole struct {
	namespace, name string   // no namespace: a ClusterRole
	sccs            []string // "*": every one
}

// convertRole returns nil for a role that has nothing to do with SCCs, as nearly all have.
func convertRole(r *rbacRole) *sccRole {
	role := sccRole{namespace: r.Namespace, name: r.Name}
	for _, rule := range r.Rules {
		switch {
		case !either(rule.Verbs, "use"), !either(rule.APIGroups, cluster.SecurityGroup), !either(rule.Resources, resourceSCC):
		case len(rule.ResourceNames) == 0:
			role.sccs = append(role.sccs, "*")
		default:
			role.sccs = append(role.sccs, rule.ResourceNames...)
		}
	}
	if len(role.sccs) == 0 {
		return nil
	}
	return &role
}

// either reports whether a rule's list holds the word or the star that stands for all.
func either(list []string, word string) bool {
	return slices.Contains(list, word) || slices.Contains(list, "*")
}

// rbacBinding has the fields of a RoleBinding or ClusterRoleBinding that are read.
type rbacBinding struct {
	metav1.ObjectMeta `json:"metadata"`
	RoleRef           struct {
		Kind string `json:"kind"`
		Name string `json:"name"`
	} `json:"roleRef"`
	Subjects []struct {
		Kind      string `json:"kind"`
		Namespace string `json:"namespace"`
		Name      string `json:"name"`
	} `json:"subjects"`
}

// binding gives the rights of a role to subjects, everywhere when it has no namespace.
type binding struct {
	namespace, name string
	roleNamespace   string
	role            string
	subjects        []string // as cluster.SCCGrant has them
}

func convertBinding(b *rbacBinding) binding {
	converted := binding{namespace: b.Namespace, name: b.Name, role: b.RoleRef.Name}
	if b.RoleRef.Kind == "Role" {
		converted.roleNamespace = b.Namespace
	}
	for _, s := range b.Subjects {
		subject := s.Kind + "/" + s.Name
		if s.Kind == "ServiceAccount" {
			subject = s.Kind + "/" + s.Namespace + "/" + s.Name
		}
		converted.subjects = append(converted.subjects, subject)
	}
	return converted
}

// grants joins bindings with the roles they name, and adds those whom an SCC names itself.
func grants(roles []sccRole, bindings []binding, sccs []cluster.SCC) []cluster.SCCGrant {
	var all []cluster.SCCGrant
	for _, b := range bindings {
		i := slices.IndexFunc(roles, func(r sccRole) bool { return r.namespace == b.roleNamespace && r.name == b.role })
		if i < 0 {
			continue
		}
		by := "ClusterRoleBinding/" + b.name
		if b.namespace != "" {
			by = "RoleBinding/" + b.name
		}
		for _, scc := range roles[i].sccs {
			for _, subject := range b.subjects {
				all = append(all, cluster.SCCGrant{SCC: scc, Subject: subject, Namespace: b.namespace, By: by})
			}
		}
	}
	for _, s := range sccs {
		for _, user := range s.Users {
			all = append(all, cluster.SCCGrant{SCC: s.Name, Subject: "User/" + user, By: resourceSCC + "/" + s.Name})
		}
		for _, group := range s.Groups {
			all = append(all, cluster.SCCGrant{SCC: s.Name, Subject: "Group/" + group, By: resourceSCC + "/" + s.Name})
		}
	}
	slices.SortStableFunc(all, func(a, b cluster.SCCGrant) int {
		return cmp.Or(cmp.Compare(a.SCC, b.SCC), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Subject, b.Subject))
	})
	return all
}
