package kube

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"

	"github.com/railhead/railhead/internal/plan"
)

func TestAllow(t *testing.T) {
	var rules []authorizationv1.ResourceRule
	err := json.Unmarshal([]byte(`[
		{"verbs":["get","patch"],"apiGroups":["apps"],"resources":["statefulsets"]},
		{"verbs":["create"],"apiGroups":[""],"resources":["*"]},
		{"verbs":["delete"],"apiGroups":[""],"resources":["services"],"resourceNames":["mine"]}]`), &rules)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		right plan.Right
		want  bool
	}{
		"named verb": {
			plan.Right{Verb: "patch", Group: "apps", Resource: "statefulsets", Name: "x"},
			true,
		},
		"another verb": {
			plan.Right{Verb: "delete", Group: "apps", Resource: "statefulsets", Name: "x"},
			false,
		},
		"another group":             {plan.Right{Verb: "patch", Group: "extensions", Resource: "statefulsets"}, false},
		"every resource of a group": {plan.Right{Verb: "create", Resource: "configmaps"}, true},
		"the object that is named":  {plan.Right{Verb: "delete", Resource: "services", Name: "mine"}, true},
		"another object":            {plan.Right{Verb: "delete", Resource: "services", Name: "yours"}, false},
		"all objects":               {plan.Right{Verb: "delete", Resource: "services"}, false},
	} {
		if got := allow(rules, test.right); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

func TestNamespacesOf(t *testing.T) {
	got := namespacesOf([]plan.Right{
		{Namespace: "a"},
		{},
		{Namespace: "b"},
		{},
		{Namespace: "a"},
		{Namespace: "a"},
		{Namespace: "b"},
		{Namespace: "once"},
	})
	if diff := cmp.Diff([]string{"a", "b"}, got); diff != "" {
		t.Error(diff)
	}
}
