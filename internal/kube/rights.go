package kube

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/plan"
)

const (
	authorizationGroup = "authorization.k8s.io/v1"
	authorizationPath  = "/apis/" + authorizationGroup
)

// May returns those of the rights that whoever asks does not have. Rights in a namespace are answered together by one
// call; those that its answer does not hold, and those of the cluster, by one call each.
func (c *Client) May(ctx context.Context, rights []plan.Right) (denied []plan.Right, err error) {
	open := rights
	for _, namespace := range namespacesOf(rights) {
		var rules ruleSet
		if err := c.persist(ctx, func(ctx context.Context) error { return c.rulesIn(ctx, namespace, &rules) }); err != nil {
			return nil, fmt.Errorf("ask for the rights in namespace %s: %w", namespace, err)
		}
		open = slices.DeleteFunc(slices.Clone(open), func(r plan.Right) bool { return r.Namespace == namespace && rules.allow(r) })
	}
	allowed := make([]bool, len(open))
	g, asking := errgroup.WithContext(ctx)
	g.SetLimit(atOnce)
	for i, r := range open {
		g.Go(func() error {
			return c.persist(asking, func(ctx context.Context) (err error) {
				allowed[i], err = c.mayOne(ctx, r)
				return err
			})
		})
	}
	if err := g.Wait(); err != nil {
		return nil, fmt.Errorf("ask for the rights: %w", err)
	}
	for i, r := range open {
		if !allowed[i] {
			denied = append(denied, r)
		}
	}
	if len(denied) > 0 && c.User() == "" {
		return denied, c.Identify(ctx)
	}
	return denied, nil
}

// namespacesOf are the namespaces in which several rights are asked for.
func namespacesOf(rights []plan.Right) []string {
	count := map[string]int{}
	var names []string
	for _, r := range rights {
		if count[r.Namespace]++; r.Namespace != "" && count[r.Namespace] == 2 {
			names = append(names, r.Namespace)
		}
	}
	return names
}

// ruleSet is the status of a SelfSubjectRulesReview. It holds what RBAC allows; other authorizers may add rights, so
// missing ones must be asked for.
type ruleSet []struct {
	Verbs         []string `json:"verbs"`
	APIGroups     []string `json:"apiGroups"`
	Resources     []string `json:"resources"`
	ResourceNames []string `json:"resourceNames"`
}

func (s ruleSet) allow(r plan.Right) bool {
	for _, rule := range s {
		if either(rule.Verbs, r.Verb) && either(rule.APIGroups, r.Group) && either(rule.Resources, r.Resource) &&
			(len(rule.ResourceNames) == 0 || slices.Contains(rule.ResourceNames, r.Name)) {
			return true
		}
	}
	return false
}

func (c *Client) rulesIn(ctx context.Context, namespace string, rules *ruleSet) error {
	review := map[string]any{
		"apiVersion": authorizationGroup, "kind": "SelfSubjectRulesReview",
		"spec": map[string]any{"namespace": namespace},
	}
	var answer struct {
		Status struct {
			ResourceRules ruleSet `json:"resourceRules"`
		} `json:"status"`
	}
	err := c.post(ctx, authorizationPath+"/selfsubjectrulesreviews", review, &answer)
	*rules = answer.Status.ResourceRules
	return err
}

// accessAnswer is the status of an access review.
type accessAnswer struct {
	Status struct {
		Allowed bool `json:"allowed"`
	} `json:"status"`
}

func (c *Client) mayOne(ctx context.Context, r plan.Right) (bool, error) {
	review := map[string]any{
		"apiVersion": authorizationGroup, "kind": "SelfSubjectAccessReview",
		"spec": map[string]any{"resourceAttributes": attributes(r)},
	}
	var answer accessAnswer
	err := c.post(ctx, authorizationPath+"/selfsubjectaccessreviews", review, &answer)
	return answer.Status.Allowed, err
}

func attributes(r plan.Right) map[string]any {
	a := map[string]any{"verb": r.Verb, "group": r.Group, "namespace": r.Namespace, "name": r.Name}
	resource, sub, _ := strings.Cut(r.Resource, "/")
	a["resource"] = resource
	if sub != "" {
		a["subresource"] = sub
	}
	return a
}

// CanUseSCC asks whether RBAC lets a service account use an SCC in its namespace, in one call. It is absent where there
// are no SCCs, and unreadable for whoever may not ask about others. Those whom the SCC itself names are not asked for:
// they stand in cluster.SCC.
func (c *Client) CanUseSCC(ctx context.Context, namespace, serviceAccount, scc string) (host.Fact[bool], error) {
	if !c.Server().OpenShift() {
		return host.Fact[bool]{}, nil
	}
	review := map[string]any{
		"apiVersion": authorizationGroup, "kind": "LocalSubjectAccessReview",
		"metadata": map[string]any{"namespace": namespace},
		"spec": map[string]any{
			"user":   "system:serviceaccount:" + namespace + ":" + serviceAccount,
			"groups": []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace, "system:authenticated"},
			"resourceAttributes": attributes(plan.Right{
				Verb: "use", Group: cluster.SecurityGroup, Resource: resourceSCC, Namespace: namespace, Name: scc,
			}),
		},
	}
	var answer accessAnswer
	err := c.persist(ctx, func(ctx context.Context) error {
		return c.post(ctx, authorizationPath+"/namespaces/"+namespace+"/localsubjectaccessreviews", review, &answer)
	})
	switch {
	case err == nil:
		return host.Know(answer.Status.Allowed), nil
	case apierrors.IsForbidden(err):
		return host.Unread[bool](err.Error()), nil
	}
	return host.Fact[bool]{}, fmt.Errorf("ask whether %s/%s may use SCC %s: %w", namespace, serviceAccount, scc, err)
}
