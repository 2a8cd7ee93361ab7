package kube

import (
	"cmp"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/railhead/railhead/internal/cluster"
)

// resourceSlice has the fields of a ResourceSlice that are read, in resource.k8s.io/v1, v1beta2 and v1beta1. Only
// v1beta1 has basic.
type resourceSlice struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Driver   string `json:"driver"`
		NodeName string `json:"nodeName"`
		Pool     struct {
			Name string `json:"name"`
		} `json:"pool"`
		Devices []sliceDevice `json:"devices"`
	} `json:"spec"`
}

type sliceDevice struct {
	Name       string                    `json:"name"`
	NodeName   string                    `json:"nodeName"` // if each device of the slice has its own node
	Attributes map[string]sliceAttribute `json:"attributes"`
	Taints     []struct {
		Key    string `json:"key"`
		Effect string `json:"effect"` // None, NoSchedule, NoExecute
	} `json:"taints"`
	Basic *struct {
		Attributes map[string]sliceAttribute `json:"attributes"`
	} `json:"basic"`
}

// sliceAttribute has one of its fields set.
type sliceAttribute struct {
	Bool    *bool   `json:"bool"`
	Int     *int64  `json:"int"`
	String  *string `json:"string"`
	Version *string `json:"version"`
}

func (a sliceAttribute) text() string {
	switch {
	case a.Bool != nil:
		return strconv.FormatBool(*a.Bool)
	case a.Int != nil:
		return strconv.FormatInt(*a.Int, 10)
	case a.String != nil:
		return *a.String
	case a.Version != nil:
		return *a.Version
	}
	return ""
}

// The attributes that say whether a network device has RDMA, and whether a device is a whole GPU.
const (
	dranetRDMA = cluster.DRANet + "/rdma"          // kubernetes-sigs/dranet pkg/apis/attributes.go
	sriovRDMA  = cluster.DRASriov + "/rdmaCapable" // dra-driver-sriov pkg/consts/consts.go
	gpuType    = cluster.DRAGPU + "/type"          // NVIDIA/k8s-dra-driver-gpu: gpu, mig, vfio
)

// convertSlice keeps GPUs, and the devices whose driver says whether they have RDMA.
func convertSlice(s *resourceSlice) []cluster.DRADevice {
	var devices []cluster.DRADevice
	for _, d := range s.Spec.Devices {
		attributes := attributesOf(s.Spec.Driver, d)
		rdma, gpu := cmp.Or(attributes[dranetRDMA], attributes[sriovRDMA]), attributes[gpuType] == "gpu"
		if rdma == "" && !gpu {
			continue
		}
		device := cluster.DRADevice{
			Driver:    s.Spec.Driver,
			Pool:      s.Spec.Pool.Name,
			Node:      cmp.Or(d.NodeName, s.Spec.NodeName),
			Name:      d.Name,
			RDMA:      rdma == "true",
			GPU:       gpu,
			Attribute: attributes,
		}
		for _, t := range d.Taints {
			if t.Effect == "NoSchedule" || t.Effect == "NoExecute" {
				device.Taint = cmp.Or(device.Taint, t.Key)
			}
		}
		devices = append(devices, device)
	}
	return devices
}

// attributesOf returns all attributes with their domain. The default is the driver's (resource.k8s.io QualifiedName).
func attributesOf(driver string, d sliceDevice) map[string]string {
	from := d.Attributes
	if d.Basic != nil {
		from = d.Basic.Attributes
	}
	attributes := make(map[string]string, len(from))
	for name, value := range from {
		if !strings.Contains(name, "/") {
			name = driver + "/" + name
		}
		attributes[name] = value.text()
	}
	return attributes
}
