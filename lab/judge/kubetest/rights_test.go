package kubetest

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/plan"
)

func TestMay(t *testing.T) {
	namespace(t, openShift, "rights")
	create(t, openShift,
		"{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {namespace: rights, name: r}, rules: [{apiGroups: [''], resources: [services, configmaps], verbs: [create, patch]}]}",
		"{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {namespace: rights, name: r}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: r}, subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: writer}]}")
	right := func(verb, group, resource, namespace string) plan.Right {
		return plan.Right{Verb: verb, Group: group, Resource: resource, Namespace: namespace, Name: "x"}
	}
	rights := []plan.Right{
		right("create", "", "services", "rights"), right("patch", "", "services", "rights"), right("patch", "", "configmaps", "rights"),
		right("patch", "apps", "statefulsets", "rights"), right("patch", "machineconfiguration.openshift.io", "machineconfigs", ""),
	}
	c, counted := as(t, openShift, "writer")
	counted.take()
	denied, err := c.May(t.Context(), rights)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(rights[3:], denied); diff != "" {
		t.Error(diff)
	}
	if c.User() != "writer" {
		t.Errorf("user %q", c.User())
	}
	allowed, err := c.May(t.Context(), rights[:3])
	counted.take()
	if err != nil || len(allowed) != 0 {
		t.Errorf("%v, %v", allowed, err)
	}
	if _, err = c.May(t.Context(), rights[:3]); err != nil {
		t.Error(err)
	}
	if made := counted.take(); len(made) != 1 {
		t.Errorf("what is allowed in a namespace is one question, not %v", made)
	}
	boss, counted := admin(t, openShift)
	counted.take()
	if denied, err := boss.May(t.Context(), rights); err != nil || len(denied) != 0 {
		t.Errorf("%v, %v", denied, err)
	}
	if made := counted.take(); len(made) != 2 {
		t.Errorf("an administrator's rights are two questions, not %v", made)
	}
}
