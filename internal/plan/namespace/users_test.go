package namespace

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/plan/plantest"
)

// withUsers returns the step for users of a namespace that is set up otherwise.
func withUsers(t *testing.T, s cluster.State, users ...string) plan.Step {
	t.Helper()
	p, findings := Setup(s, Options{Namespace: "train", Users: users})
	i := slices.IndexFunc(p.Steps, func(s plan.Step) bool { return s.ID == "users" })
	if i < 0 {
		t.Logf("findings %v", findings)
		return plan.Step{}
	}
	return p.Steps[i]
}

func readable() cluster.State {
	s := plantest.Training()
	s.Read = append(slices.Clone(s.Read), cluster.UserBindings)
	return s
}

// written returns the State after a step.
func written(s cluster.State, step plan.Step) cluster.State {
	for _, c := range step.Changes {
		o := c.Object
		s.Objects = slices.DeleteFunc(slices.Clone(s.Objects), func(old cluster.Object) bool {
			return old.Kind == o.GetKind() && old.Namespace == o.GetNamespace() && old.Name == o.GetName()
		})
		s.Objects = append(s.Objects, cluster.Object{
			APIVersion: o.GetAPIVersion(), Kind: o.GetKind(), Namespace: o.GetNamespace(), Name: o.GetName(),
			Fields: o.Object,
		})
	}
	return s
}

func TestUsers(t *testing.T) {
	first := withUsers(t, readable(), "ml-team")
	var kinds []string
	for _, c := range first.Changes {
		kinds = append(kinds, c.Object.GetKind()+" "+c.Object.GetNamespace()+"/"+c.Object.GetName())
	}
	want := []string{
		"Role train/railhead-users", "RoleBinding train/railhead-users",
		"ClusterRole /railhead-users", "ClusterRoleBinding /railhead-users",
	}
	if diff := cmp.Diff(want, kinds); diff != "" {
		t.Error(diff)
	}
	s := written(readable(), first)
	if again := withUsers(t, s, "ml-team"); len(again.Changes) > 0 {
		t.Errorf("a second run changes %v", again.Changes)
	}
	more := withUsers(t, s, "user:h-kim")
	if len(more.Changes) != 2 {
		t.Fatalf("another user changes %v", more.Changes)
	}
	group := map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "ml-team"}
	user := map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "h-kim"}
	if diff := cmp.Diff([]any{group, user}, more.Changes[1].Object.Object["subjects"]); diff != "" {
		t.Errorf("the group lost its right: %s", diff)
	}
}

// TestUsersUnread writes nothing where the subjects that have the rights are not known: an apply would remove them.
func TestUsersUnread(t *testing.T) {
	p, findings := Setup(plantest.Training(), Options{Namespace: "train", Users: []string{"ml-team"}})
	if !p.Empty() || len(findings) != 1 {
		t.Errorf("plan %v, findings %v", p, findings)
	}
}

func TestForUsers(t *testing.T) {
	for right, want := range map[plan.Right]bool{
		{Verb: "create", Resource: "pods/exec", Namespace: "train"}:                                            true,
		{Verb: "list", Resource: "nodes"}:                                                                      true,
		{Verb: "list", Resource: "pods"}:                                                                       true,
		{Verb: "create", Resource: "pods"}:                                                                     false,
		{Verb: "get", Resource: "secrets", Namespace: "train"}:                                                 false,
		{Verb: "patch", Group: "apps", Resource: "statefulsets", Namespace: "train"}:                           true,
		{Verb: "patch", Group: "rbac.authorization.k8s.io", Resource: "rolebindings", Namespace: "train"}:      false,
		{Verb: "list", Group: "kubeflow.org", Resource: "pytorchjobs", Namespace: "train"}:                     true,
		{Verb: "patch", Group: "machineconfiguration.openshift.io", Resource: "machineconfigpools"}:            false,
		{Verb: "list", Group: "machineconfiguration.openshift.io", Resource: "machineconfigpools"}:             true,
		{Verb: "create", Group: "k8s.cni.cncf.io", Resource: "network-attachment-definitions", Namespace: "a"}: false,
	} {
		if got := ForUsers(right); got != want {
			t.Errorf("%s: %v", right, got)
		}
	}
}

// TestPublishedRights: docs/rights/users.yaml has the objects that `setup namespace train --users ml-team` writes. The flag -update
// renews it.
func TestPublishedRights(t *testing.T) {
	var text strings.Builder
	text.WriteString("# The rights of users: what `railhead setup namespace train --users ml-team` writes.\n" +
		"# Change the namespace, train, and the group, ml-team.\n")
	for i, c := range withUsers(t, readable(), "ml-team").Changes {
		object, err := yaml.Marshal(c.Object.Object)
		if err != nil {
			t.Fatal(err)
		}
		if i > 0 {
			text.WriteString("---\n")
		}
		text.Write(object)
	}
	plantest.Golden(t, "../../../../docs/rights/users.yaml", text.String())
}
