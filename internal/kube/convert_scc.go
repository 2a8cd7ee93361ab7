package kube

import (
	"cmp"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/railhead/railhead/internal/cluster"
)

// securityContextConstraints has the fields that are read, all at the top level (openshift/api security/v1 types.go).
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

// sccRole is a role that lets its subjects use SCCs.
type sccRole struct {
	namespace, name string   // no namespace: a ClusterRole
	sccs            []string // "*": all
}

// convertRole returns nothing for a role without SCCs, as nearly all are. A Role has the fields of a ClusterRole.
func convertRole(r *rbacv1.ClusterRole) []sccRole {
	role := sccRole{namespace: r.Namespace, name: r.Name}
	for _, rule := range r.Rules {
		switch {
		case !covers(rule.Verbs, "use"),
			!covers(rule.APIGroups, cluster.SecurityGroup),
			!covers(rule.Resources, string(cluster.SCCs)):
		case len(rule.ResourceNames) == 0:
			role.sccs = append(role.sccs, "*")
		default:
			role.sccs = append(role.sccs, rule.ResourceNames...)
		}
	}
	if len(role.sccs) == 0 {
		return nil
	}
	return []sccRole{role}
}

// covers reports whether the list of an RBAC rule has a word or the star that stands for all.
func covers(list []string, word string) bool {
	return slices.Contains(list, word) || slices.Contains(list, "*")
}

// binding gives the rights of a role to subjects.
type binding struct {
	namespace, name string // no namespace: a ClusterRoleBinding
	roleNamespace   string
	role            string
	subjects        []string // in the form of cluster.SCCGrant
}

// convertBinding converts both kinds of binding: they have the same fields.
func convertBinding(b *rbacv1.ClusterRoleBinding) binding {
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

// grants joins bindings with the roles that they name, and adds the users and groups that an SCC names itself.
func grants(roles []sccRole, bindings []binding, sccs []cluster.SCC) []cluster.SCCGrant {
	var all []cluster.SCCGrant
	for _, b := range bindings {
		i := slices.IndexFunc(roles, func(r sccRole) bool {
			return r.namespace == b.roleNamespace && r.name == b.role
		})
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
		by := string(cluster.SCCs) + "/" + s.Name
		for _, user := range s.Users {
			all = append(all, cluster.SCCGrant{SCC: s.Name, Subject: "User/" + user, By: by})
		}
		for _, group := range s.Groups {
			all = append(all, cluster.SCCGrant{SCC: s.Name, Subject: "Group/" + group, By: by})
		}
	}
	slices.SortStableFunc(all, func(a, b cluster.SCCGrant) int {
		return cmp.Or(
			cmp.Compare(a.SCC, b.SCC),
			cmp.Compare(a.Namespace, b.Namespace),
			cmp.Compare(a.Subject, b.Subject),
		)
	})
	return all
}
