package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	apidiscovery "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// acceptDiscovery asks for all groups with their resources in one response (Kubernetes 1.26 and later, v2 since 1.30),
// and accepts the plain list of groups from an older server.
const acceptDiscovery = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList," +
	"application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json"

// api has the resources of a server outside the core group, by group; the versions in the server's order.
type api map[string][]apiVersion

type apiVersion struct {
	version   string
	resources []string // nil: the server does not list them
}

// find returns the first of the versions in which the server has a resource. The core group is always served as v1.
func (a api) find(group, resource string, versions ...string) (version string, ok bool) {
	if group == "" {
		return "v1", true
	}
	for _, want := range versions {
		for _, v := range a[group] {
			if v.version == want && (v.resources == nil || slices.Contains(v.resources, resource)) {
				return want, true
			}
		}
	}
	return "", false
}

func (c *Client) discover(ctx context.Context) (api, error) {
	raw, err := responseBody(c.rest.Get().AbsPath("/apis").SetHeader("Accept", acceptDiscovery).Do(ctx))
	if err != nil {
		return nil, err
	}
	return parseDiscovery(raw)
}

func parseDiscovery(raw []byte) (api, error) {
	var list struct {
		apidiscovery.APIGroupDiscoveryList
		Groups []metav1.APIGroup `json:"groups"` // in an APIGroupList
	}
	err := json.Unmarshal(raw, &list)
	if err != nil || list.Kind != "APIGroupDiscoveryList" && list.Kind != "APIGroupList" {
		return nil, fmt.Errorf("%w: its list of API groups is %.60q", errNotKubernetes, raw)
	}
	found := api{}
	for _, group := range list.Items {
		for _, v := range group.Versions {
			served := apiVersion{v.Version, []string{}}
			if v.Freshness == apidiscovery.DiscoveryFreshnessStale { // an aggregated server that does not answer
				found[group.Name] = append(found[group.Name], apiVersion{v.Version, nil})
				continue
			}
			for _, r := range v.Resources {
				served.resources = append(served.resources, r.Resource)
			}
			found[group.Name] = append(found[group.Name], served)
		}
	}
	for _, group := range list.Groups {
		for _, v := range group.Versions {
			found[group.Name] = append(found[group.Name], apiVersion{v.Version, nil})
		}
	}
	return found, nil
}
