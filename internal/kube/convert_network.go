package kube

import (
	"encoding/json"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/railhead/railhead/internal/cluster"
)

const (
	// annotationResourceName ties a network to the device plugin's resource (network-attachment-definition-client).
	annotationResourceName = "k8s.v1.cni.cncf.io/resourceName"
	// annotationOwner names the object from which the SR-IOV operator made a network.
	annotationOwner = "sriovnetwork.openshift.io/owner-ref"
)

// networkAttachment has the fields of a NetworkAttachmentDefinition that are read.
type networkAttachment struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Config string `json:"config"`
	} `json:"spec"`
}

func convertNetwork(n *networkAttachment) cluster.Network {
	network := cluster.Network{
		Namespace: n.Namespace,
		Name:      n.Name,
		Resource:  n.Annotations[annotationResourceName],
		Config:    n.Spec.Config,
		Owner:     n.Annotations[annotationOwner],
	}
	network.Type, network.RDMA, network.Broken = parseCNI(n.Spec.Config)
	return network
}

// parseCNI reads a CNI configuration: one plugin, or a chain whose first plugin creates the interface (CNI
// specification, "Network configuration format"). An empty configuration is not broken: Multus then uses the one of
// that name on the node.
func parseCNI(config string) (kind string, rdma bool, broken string) {
	if strings.TrimSpace(config) == "" {
		return "", false, ""
	}
	type plugin struct {
		Type string `json:"type"`
	}
	var network struct {
		plugin
		Plugins []plugin `json:"plugins"`
	}
	if err := json.Unmarshal([]byte(config), &network); err != nil {
		return "", false, "spec.config: " + err.Error()
	}
	chain := network.Plugins
	if len(chain) == 0 {
		chain = []plugin{network.plugin}
	}
	if chain[0].Type == "" {
		return "", false, "spec.config names no plugin type"
	}
	return chain[0].Type, slices.Contains(chain, plugin{"rdma"}), ""
}
