package kube

import (
	"cmp"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/railhead/railhead/internal/cluster"
)

// The annotations by which the operator's daemon asks for a drain and is told how far it is (sriov-network-operator
// pkg/consts/constants.go).
const (
	annotationDrainCurrent = "sriovnetwork.openshift.io/current-state"
	annotationDrainDesired = "sriovnetwork.openshift.io/desired-state"
)

// sriovNetworkOf returns the conversion for SriovNetwork or SriovIBNetwork (sriov-network-operator api/v1).
func sriovNetworkOf(kind string) func(*anyObject) cluster.SriovNetwork {
	return func(n *anyObject) cluster.SriovNetwork {
		spec, _ := n.Object["spec"].(map[string]any)
		target, _ := spec["networkNamespace"].(string)
		resource, _ := spec["resourceName"].(string)
		return cluster.SriovNetwork{
			Kind:            kind,
			Namespace:       n.GetNamespace(),
			Name:            n.GetName(),
			TargetNamespace: target,
			ResourceName:    resource,
			Spec:            spec,
		}
	}
}

// sriovPolicy has the fields of a SriovNetworkNodePolicy that are read.
type sriovPolicy struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		ResourceName string            `json:"resourceName"`
		NodeSelector map[string]string `json:"nodeSelector"`
		Priority     int               `json:"priority"`
		NumVfs       int               `json:"numVfs"`
		NicSelector  struct {
			Vendor      string   `json:"vendor"`
			DeviceID    string   `json:"deviceID"`
			PfNames     []string `json:"pfNames"`
			RootDevices []string `json:"rootDevices"`
		} `json:"nicSelector"`
		DeviceType string `json:"deviceType"`
		IsRdma     bool   `json:"isRdma"`
		LinkType   string `json:"linkType"`
		Mtu        int    `json:"mtu"`
	} `json:"spec"`
}

func convertPolicy(p *sriovPolicy) cluster.SriovPolicy {
	return cluster.SriovPolicy{
		Namespace:    p.Namespace,
		Name:         p.Name,
		ResourceName: p.Spec.ResourceName,
		NodeSelector: p.Spec.NodeSelector,
		Priority:     p.Spec.Priority,
		VFs:          p.Spec.NumVfs,
		PFs:          p.Spec.NicSelector.PfNames,
		RootDevices:  p.Spec.NicSelector.RootDevices,
		Vendor:       p.Spec.NicSelector.Vendor,
		DeviceID:     p.Spec.NicSelector.DeviceID,
		DeviceType:   p.Spec.DeviceType,
		RDMA:         p.Spec.IsRdma,
		LinkType:     p.Spec.LinkType,
		MTU:          p.Spec.Mtu,
	}
}

// sriovNodeState has the fields of a SriovNetworkNodeState that are read. It has the name of its node.
type sriovNodeState struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Interfaces []sriovInterfaceSpec `json:"interfaces"`
	} `json:"spec"`
	Status struct {
		SyncStatus    string `json:"syncStatus"`
		LastSyncError string `json:"lastSyncError"`
		RdmaMode      string `json:"rdmaMode"` // until 1.3; system.rdmaMode since
		System        struct {
			RdmaMode string `json:"rdmaMode"`
		} `json:"system"`
		Interfaces []struct {
			Name           string `json:"name"`
			PciAddress     string `json:"pciAddress"`
			Vendor         string `json:"vendor"`
			DeviceID       string `json:"deviceID"`
			Driver         string `json:"driver"`
			LinkSpeed      string `json:"linkSpeed"`
			LinkType       string `json:"linkType"`
			LinkAdminState string `json:"linkAdminState"`
			Mac            string `json:"mac"`
			Mtu            int    `json:"mtu"`
			TotalVfs       int    `json:"totalvfs"`
			NumVfs         int    `json:"numVfs"`
		} `json:"interfaces"`
	} `json:"status"`
}

// sriovInterfaceSpec is the desired state of one physical function.
type sriovInterfaceSpec struct {
	PciAddress string `json:"pciAddress"`
	NumVfs     int    `json:"numVfs"`
	VfGroups   []struct {
		ResourceName string `json:"resourceName"`
		VfRange      string `json:"vfRange"` // 0-7
	} `json:"vfGroups"`
}

// groups counts the virtual functions of each resource. A range that cannot be read leaves its resource out.
func (i sriovInterfaceSpec) groups() map[string]int {
	var groups map[string]int
	for _, g := range i.VfGroups {
		first, last, isRange := strings.Cut(g.VfRange, "-")
		if !isRange {
			last = first
		}
		from, err := strconv.Atoi(first)
		to, second := strconv.Atoi(last)
		if err != nil || second != nil || to < from {
			continue
		}
		if groups == nil {
			groups = map[string]int{}
		}
		groups[g.ResourceName] += to - from + 1
	}
	return groups
}

func convertSriovNode(n *sriovNodeState) cluster.SriovNode {
	node := cluster.SriovNode{
		Namespace:  n.Namespace,
		Node:       n.Name,
		SyncStatus: n.Status.SyncStatus,
		SyncError:  n.Status.LastSyncError,
		RDMAMode:   cmp.Or(n.Status.System.RdmaMode, n.Status.RdmaMode),
		Drain: cluster.SriovDrain{
			Current: n.Annotations[annotationDrainCurrent],
			Desired: n.Annotations[annotationDrainDesired],
		},
	}
	wanted := map[string]sriovInterfaceSpec{}
	for _, i := range n.Spec.Interfaces {
		wanted[i.PciAddress] = i
	}
	for _, i := range n.Status.Interfaces {
		node.Interfaces = append(node.Interfaces, cluster.SriovInterface{
			Name:      i.Name,
			PCI:       i.PciAddress,
			Vendor:    i.Vendor,
			DeviceID:  i.DeviceID,
			Driver:    i.Driver,
			LinkSpeed: i.LinkSpeed,
			LinkType:  i.LinkType,
			LinkState: i.LinkAdminState,
			MAC:       i.Mac,
			MTU:       i.Mtu,
			TotalVFs:  i.TotalVfs,
			VFs:       i.NumVfs,
			Wanted:    wanted[i.PciAddress].NumVfs,
			Groups:    wanted[i.PciAddress].groups(),
		})
	}
	return node
}
