package kube

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/railhead/railhead/internal/plan"
)

// May returns the rights that the user does not have. One call checks all rights of a namespace; each right that it
// does not confirm, and each right of the cluster, needs a call.
func (c *Client) May(ctx context.Context, rights []plan.Right) (denied []plan.Right, err error) {
	open := slices.Clone(rights)
	for _, namespace := range namespacesOf(rights) {
		rules, err := c.rulesIn(ctx, namespace)
		if err != nil {
			return nil, fmt.Errorf("check permissions in namespace %s: %w", namespace, err)
		}
		open = slices.DeleteFunc(open, func(r plan.Right) bool { return r.Namespace == namespace && allow(rules, r) })
	}
	allowed := make([]bool, len(open))
	g, reviewing := errgroup.WithContext(ctx)
	g.SetLimit(maxCalls)
	for i, r := range open {
		g.Go(func() (err error) {
			allowed[i], err = c.mayOne(reviewing, r)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, fmt.Errorf("check permissions: %w", err)
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

// namespacesOf returns the namespaces that have several of the rights.
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

// review creates a review of the user's rights, and fills in the server's response.
func (c *Client) review(ctx context.Context, kind string, review runtime.Object) error {
	version := authorizationv1.SchemeGroupVersion
	review.GetObjectKind().SetGroupVersionKind(version.WithKind(kind))
	path := apiPath(version.Group, version.Version) + "/" + plan.Resource(kind)
	return c.persist(ctx, func(ctx context.Context) error { return c.post(ctx, path, review, review) })
}

// rulesIn returns the rules that RBAC gives the user in a namespace. Other authorizers may allow more.
func (c *Client) rulesIn(ctx context.Context, namespace string) ([]authorizationv1.ResourceRule, error) {
	review := &authorizationv1.SelfSubjectRulesReview{}
	review.Spec.Namespace = namespace
	err := c.review(ctx, "SelfSubjectRulesReview", review)
	return review.Status.ResourceRules, err
}

func allow(rules []authorizationv1.ResourceRule, r plan.Right) bool {
	return slices.ContainsFunc(rules, func(rule authorizationv1.ResourceRule) bool {
		return covers(rule.Verbs, r.Verb) && covers(rule.APIGroups, r.Group) && covers(rule.Resources, r.Resource) &&
			(len(rule.ResourceNames) == 0 || slices.Contains(rule.ResourceNames, r.Name))
	})
}

func (c *Client) mayOne(ctx context.Context, r plan.Right) (bool, error) {
	review := &authorizationv1.SelfSubjectAccessReview{}
	review.Spec.ResourceAttributes = attributes(r)
	err := c.review(ctx, "SelfSubjectAccessReview", review)
	return review.Status.Allowed, err
}

func attributes(r plan.Right) *authorizationv1.ResourceAttributes {
	resource, sub, _ := strings.Cut(r.Resource, "/")
	return &authorizationv1.ResourceAttributes{
		Namespace:   r.Namespace,
		Verb:        r.Verb,
		Group:       r.Group,
		Resource:    resource,
		Subresource: sub,
		Name:        r.Name,
	}
}
