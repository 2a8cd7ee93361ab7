package namespace

import (
	"encoding/json"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/words"
	"github.com/railhead/railhead/internal/workload"
)

// UsersRole is the name of the roles of users and of their bindings.
const UsersRole = "railhead-users"

// componentUsers is the value of LabelComponent of those objects.
const componentUsers = "users"

// users gives groups and users the rights that the commands for jobs need. Subjects that the bindings have stay.
func (d *draft) users() plan.Step {
	if len(d.Users) == 0 {
		return plan.Step{}
	}
	subjects := subjectsOf(d.Users)
	d.plan.Report(plan.Unreadable(d.s, cluster.Objects, cluster.UserBindings)...)
	d.plan.Note("%s may read the nodes, and the pods of all namespaces, by which free GPUs are counted.",
		subjectNames(subjects))
	rbac := rbacv1.SchemeGroupVersion
	everywhere := metav1.ObjectMeta{Name: UsersRole, Labels: plan.Labels(componentUsers, "")}
	here := everywhere
	here.Namespace = d.Namespace
	ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: UsersRole}
	step := plan.Step{ID: "users", Title: "Let " + subjectNames(subjects) + " run jobs"}
	add := func(kind string, object any, why string) {
		typed := plan.Typed(rbac.WithKind(kind), object)
		step.Changes = append(step.Changes, plan.ApplyIfChanged(d.s, typed, why)...)
	}
	add("Role", &rbacv1.Role{ObjectMeta: here, Rules: userRules()}, "what the commands for jobs do in this namespace")
	add("RoleBinding", &rbacv1.RoleBinding{
		ObjectMeta: here, RoleRef: ref, Subjects: boundSubjects(d, "RoleBinding", d.Namespace, subjects),
	}, "gives it to "+subjectNames(subjects))
	ref.Kind = "ClusterRole"
	add("ClusterRole", &rbacv1.ClusterRole{ObjectMeta: everywhere, Rules: clusterUserRules()},
		"what they read of the cluster")
	add("ClusterRoleBinding", &rbacv1.ClusterRoleBinding{
		ObjectMeta: everywhere, RoleRef: ref, Subjects: boundSubjects(d, "ClusterRoleBinding", "", subjects),
	}, "gives it to "+subjectNames(subjects))
	return step
}

// User begins the names in Options.Users that are not of groups.
const User = "user:"

func subjectsOf(users []string) []rbacv1.Subject {
	var all []rbacv1.Subject
	for _, name := range users {
		s := rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: name}
		if user, ok := strings.CutPrefix(name, User); ok {
			s.Kind, s.Name = rbacv1.UserKind, user
		}
		all = append(all, s)
	}
	return all
}

func subjectNames(subjects []rbacv1.Subject) string {
	var names []string
	for _, s := range subjects {
		names = append(names, strings.ToLower(s.Kind)+" "+s.Name)
	}
	return words.Few(names, 6)
}

// boundSubjects returns the subjects of a live binding, and new ones: an apply replaces the whole list.
func boundSubjects(d *draft, kind, namespace string, more []rbacv1.Subject) []rbacv1.Subject {
	var live struct{ Subjects []rbacv1.Subject }
	if o, ok := d.s.Object(kind, namespace, UsersRole); ok {
		text, _ := json.Marshal(o.Fields) // they were read as JSON
		_ = json.Unmarshal(text, &live)
	}
	for _, s := range more {
		if !slices.Contains(live.Subjects, s) {
			live.Subjects = append(live.Subjects, s)
		}
	}
	return live.Subjects
}

var (
	readVerbs  = []string{"get", "list", "watch"}
	writeVerbs = []string{"get", "list", "watch", "create", "patch", "delete"}
)

func rule(group string, verbs []string, resources ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: resources, Verbs: verbs}
}

// userRules are the rights in the namespace: what deploy writes, and what the commands for jobs read and enter. None
// reads secrets.
func userRules() []rbacv1.PolicyRule {
	rules := []rbacv1.PolicyRule{
		rule("", writeVerbs, "pods", "services", "configmaps"),
		rule("", []string{"get", "create"}, "pods/exec"), // get: by WebSocket
		rule("", []string{"get"}, "pods/log", string(cluster.Namespaces)),
		rule("", readVerbs, string(cluster.Events), string(cluster.ServiceAccounts), string(cluster.Quotas),
			string(cluster.VolumeClaims)),
		rule(cluster.NetworkGroup, readVerbs, string(cluster.Networks)),
		rule(cluster.ResourceGroup, readVerbs, string(cluster.ResourceClaims)),
		rule(cluster.KueueGroup, readVerbs, string(cluster.LocalQueues)),
		rule(cluster.ResourceGroup, writeVerbs, "resourceclaimtemplates"),
		rule(rbacv1.GroupName, readVerbs, "roles", "rolebindings"),
		rule("policy", writeVerbs, "poddisruptionbudgets"),
	}
	for _, k := range workload.Kinds {
		switch resource := plan.Resource(k.GVK.Kind); {
		case k.Deployed:
			rules = append(rules, rule(k.GVK.Group, writeVerbs, resource))
		case k.GVK.Group != "":
			rules = append(rules, rule(k.GVK.Group, readVerbs, resource))
		}
	}
	return rules
}

// clusterUserRules are the rights outside the namespace: lists that say which devices pods can get.
func clusterUserRules() []rbacv1.PolicyRule {
	list := []string{"get", "list"}
	return []rbacv1.PolicyRule{
		rule("", list, string(cluster.Nodes), string(cluster.Pods)),
		rule(cluster.MachineConfigGroup, list, string(cluster.Pools), string(cluster.MachineConfigs)),
		rule(cluster.SriovGroup, list, string(cluster.SriovNetworks), "sriovibnetworks",
			string(cluster.SriovPolicies), string(cluster.SriovNodes)),
		rule(cluster.ResourceGroup, list,
			string(cluster.DRADevices), string(cluster.DeviceClasses), string(cluster.ResourceClaims)),
		rule(cluster.SecurityGroup, list, string(cluster.SCCs)),
		rule(cluster.NvidiaGroup, list, "hostdevicenetworks"),
		rule("storage.k8s.io", list, string(cluster.StorageClasses)),
		rule("scheduling.k8s.io", list, string(cluster.PriorityClasses)),
		rule("node.k8s.io", list, string(cluster.RuntimeClasses)),
		rule(rbacv1.GroupName, list, "clusterroles", "clusterrolebindings"),
	}
}

// ForUsers reports whether a right is one of those that users get with --users.
func ForUsers(r plan.Right) bool {
	rules := clusterUserRules()
	if r.Namespace != "" {
		rules = append(rules, userRules()...)
	}
	return slices.ContainsFunc(rules, func(rule rbacv1.PolicyRule) bool {
		return slices.Contains(rule.Verbs, r.Verb) && slices.Contains(rule.APIGroups, r.Group) &&
			slices.Contains(rule.Resources, r.Resource)
	})
}
