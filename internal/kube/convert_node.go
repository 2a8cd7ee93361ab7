package kube

import (
	"cmp"
	"encoding/json"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/railhead/railhead/internal/cluster"
)

// The machine-config-daemon's annotations of its node (machine-config-operator pkg/daemon/constants/constants.go).
const (
	annotationCurrentConfig = "machineconfiguration.openshift.io/currentConfig"
	annotationDesiredConfig = "machineconfiguration.openshift.io/desiredConfig"
	annotationState         = "machineconfiguration.openshift.io/state"
	annotationReason        = "machineconfiguration.openshift.io/reason"
)

// annotationGateway has OVN-Kubernetes' gateway of each network (ovn-kubernetes
// go-controller/pkg/util/node_annotations.go).
const annotationGateway = "k8s.ovn.org/l3-gateway-config"

// gatewayMAC returns the MAC address of the NIC of the default network; empty if it is not known.
func gatewayMAC(annotation string) string {
	var networks map[string]struct {
		MAC string `json:"mac-address"`
	}
	if json.Unmarshal([]byte(annotation), &networks) != nil {
		return ""
	}
	return networks["default"].MAC
}

func convertNode(n *corev1.Node) cluster.Node {
	node := cluster.Node{
		Name:          n.Name,
		Labels:        n.Labels,
		Unschedulable: n.Spec.Unschedulable,
		Arch:          cmp.Or(n.Status.NodeInfo.Architecture, n.Labels[corev1.LabelArchStable]),
		OS:            n.Status.NodeInfo.OSImage,
		Kernel:        n.Status.NodeInfo.KernelVersion,
		Runtime:       n.Status.NodeInfo.ContainerRuntimeVersion,
		Kubelet:       n.Status.NodeInfo.KubeletVersion,
		Allocatable:   resources(n.Status.Allocatable),
		MachineConfig: cluster.NodeConfig{
			Current: n.Annotations[annotationCurrentConfig],
			Desired: n.Annotations[annotationDesiredConfig],
			State:   n.Annotations[annotationState],
			Reason:  n.Annotations[annotationReason],
		},
	}
	node.GatewayMAC = gatewayMAC(n.Annotations[annotationGateway])
	node.Ready, node.NotReady = nodeReady(n.Status.Conditions)
	for _, t := range n.Spec.Taints {
		node.Taints = append(node.Taints, cluster.Taint{Key: t.Key, Value: t.Value, Effect: string(t.Effect)})
	}
	for _, a := range n.Status.Addresses {
		if a.Type == corev1.NodeInternalIP && node.Address == "" {
			node.Address = a.Address
		}
	}
	return node
}

// nodeReady says whether a node is Ready, and why not.
func nodeReady(conditions []corev1.NodeCondition) (ok bool, why string) {
	for _, c := range conditions {
		switch {
		case c.Type != corev1.NodeReady:
		case c.Status == corev1.ConditionTrue:
			return true, ""
		default:
			return false, strings.Trim(c.Reason+": "+c.Message, ": ")
		}
	}
	return false, "the kubelet has not reported yet"
}

// resources converts quantities to numbers: cpu in milli-cores, memory and storage in bytes, others as a count.
func resources(list corev1.ResourceList) cluster.Resources {
	if len(list) == 0 {
		return nil
	}
	r := make(cluster.Resources, len(list))
	for name, quantity := range list {
		r[string(name)] = amount(string(name), quantity)
	}
	return r
}

// amount returns a quantity in the unit of its resource. Quotas name the requests and limits of cpu separately.
func amount(name string, q resource.Quantity) int64 {
	switch name {
	case "cpu", "requests.cpu", "limits.cpu":
		return q.MilliValue()
	}
	return q.Value()
}
