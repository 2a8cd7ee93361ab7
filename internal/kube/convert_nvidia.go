package kube

import (
	"cmp"
	"encoding/json"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/railhead/railhead/internal/cluster"
)

// nicPolicy has the fields of a NicClusterPolicy that are read: the configurations of two device plugins, as JSON
// (Mellanox/network-operator api/v1alpha1 DevicePluginSpec).
type nicPolicy struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Sriov struct {
			Config string `json:"config"`
		} `json:"sriovDevicePlugin"`
		Shared struct {
			Config string `json:"config"`
		} `json:"rdmaSharedDevicePlugin"`
	} `json:"spec"`
}

// pluginConfig is the configuration of sriov-network-device-plugin (resourceList) or of k8s-rdma-shared-dev-plugin
// (configList).
type pluginConfig struct {
	Resources []pluginResource `json:"resourceList"`
	Shared    []pluginResource `json:"configList"`
}

type pluginResource struct {
	Prefix    string          `json:"resourcePrefix"`
	Name      string          `json:"resourceName"`
	Devices   []string        `json:"devices"`
	Selectors pluginSelectors `json:"selectors"`
}

// pluginSelectors are one selector, or a list of alternatives (sriov-network-device-plugin v3.6.0).
type pluginSelectors []pluginSelector

type pluginSelector struct {
	RDMA    bool     `json:"isRdma"`
	PFNames []string `json:"pfNames"`
	IfNames []string `json:"ifNames"`

	LinkTypes []string `json:"linkTypes"`
}

// UnmarshalJSON accepts both forms.
func (s *pluginSelectors) UnmarshalJSON(text []byte) error {
	var one pluginSelector
	if err := json.Unmarshal(text, &one); err == nil {
		*s = pluginSelectors{one}
		return nil
	}
	return json.Unmarshal(text, (*[]pluginSelector)(s))
}

// convertNicPolicy returns the resources of both plugins. A configuration that is not valid JSON offers nothing: the
// plugin does not start with it.
func convertNicPolicy(p *nicPolicy) []cluster.NvidiaResource {
	var sriov, shared pluginConfig
	_ = json.Unmarshal([]byte(p.Spec.Sriov.Config), &sriov)
	_ = json.Unmarshal([]byte(p.Spec.Shared.Config), &shared)
	var all []cluster.NvidiaResource
	add := func(r pluginResource, prefix string, isShared bool) {
		offered := cluster.NvidiaResource{
			Policy:   p.Name,
			Resource: cmp.Or(r.Prefix, prefix) + "/" + r.Name,
			RDMA:     isShared || slices.ContainsFunc(r.Selectors, func(s pluginSelector) bool { return s.RDMA }),
			Shared:   isShared,
			Ports:    r.Devices,
		}
		for _, s := range r.Selectors {
			offered.Ports = slices.Concat(offered.Ports, s.PFNames, s.IfNames)
			offered.LinkTypes = append(offered.LinkTypes, s.LinkTypes...)
		}
		all = append(all, offered)
	}
	for _, r := range sriov.Resources {
		add(r, "intel.com", false) // the plugin's own default
	}
	for _, r := range shared.Shared {
		add(r, "rdma", true)
	}
	return all
}
