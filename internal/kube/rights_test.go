package kube

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/client-go/rest"

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

func TestMay(t *testing.T) {
	const rules = `{"status":{"resourceRules":[{"verbs":["create","patch"],"apiGroups":[""],` +
		`"resources":["services"]}]}}`
	var reviews []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.Method == http.MethodGet {
			fmt.Fprint(w, `{"kind":"APIGroupList","groups":[],"gitVersion":"v1.33.0"}`)
			return
		}
		var review struct {
			APIVersion, Kind string
			Spec             struct {
				Namespace          string
				ResourceAttributes authorizationv1.ResourceAttributes
			}
		}
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			t.Error(err)
		}
		a := review.Spec.ResourceAttributes
		reviews = append(reviews, strings.Join([]string{
			r.URL.Path, review.APIVersion, review.Kind, review.Spec.Namespace, a.Verb, a.Resource, a.Subresource,
		}, " "))
		if review.Kind == "SelfSubjectRulesReview" {
			fmt.Fprint(w, rules)
		} else {
			fmt.Fprint(w, `{"status":{"allowed":false}}`)
		}
	}))
	defer server.Close()
	c, err := connect(t.Context(), &rest.Config{Host: server.URL}, "lab")
	if err != nil {
		t.Fatal(err)
	}
	exec := plan.Right{Verb: "create", Resource: "pods/exec", Namespace: "train", Name: "p"}
	denied, err := c.May(t.Context(), []plan.Right{
		{Verb: "create", Resource: "services", Namespace: "train", Name: "x"},
		{Verb: "patch", Resource: "services", Namespace: "train", Name: "x"},
		exec,
	})
	if diff := cmp.Diff([]plan.Right{exec}, denied); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	const group = "authorization.k8s.io/v1"
	want := []string{
		"/apis/" + group + "/selfsubjectrulesreviews " + group + " SelfSubjectRulesReview train   ",
		"/apis/" + group + "/selfsubjectaccessreviews " + group + " SelfSubjectAccessReview  create pods exec",
	}
	if diff := cmp.Diff(want, reviews); diff != "" {
		t.Error(diff)
	}
}
