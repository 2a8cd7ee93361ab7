package kube

import (
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/railhead/railhead/internal/cluster"
)

// resourceSlice has the fields of a ResourceSlice that are read: resource.k8s.io/v1 and v1beta2, and v1beta1 with its
// devices' basic.
type resourceSlice struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Driver   string        `json:"driver"`
		NodeName string        `json:"nodeName"`
		Devices  []sliceDevice `json:"devices"`
	} `json:"spec"`
}

type sliceDevice struct {
	Name       string                    `json:"name"`
	NodeName   string                    `json:"nodeName"` // where each device of a slice has its own node
	Attributes map[string]sliceAttribute `json:"attributes"`
	Basic      *struct {
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

// rdmaAttributes say of a network device whether it has RDMA: of dranet (kubernetes-sigs/dranet pkg/apis/attributes.go)
// and of dra-driver-sriov (k8snetworkplumbingwg/dra-driver-sriov pkg/consts/consts.go).
func rdmaAttributes() []string {
	return []string{"dra.net/rdma", "sriovnetwork.k8snetworkplumbingwg.io/rdmaCapable"}
}

// convertSlice keeps the devices of which their driver says whether they have RDMA.
func convertSlice(s *resourceSlice) []cluster.DRADevice {
	var devices []cluster.DRADevice
	for _, d := range s.Spec.Devices {
		attributes := attributesOf(s.Spec.Driver, d)
		for _, name := range rdmaAttributes() {
			rdma, ok := attributes[name]
			if !ok {
				continue
			}
			node := d.NodeName
			if node == "" {
				node = s.Spec.NodeName
			}
			devices = append(devices, cluster.DRADevice{
				Driver: s.Spec.Driver, Node: node, Name: d.Name, RDMA: rdma == "true", Attribute: attributes,
			})
			break
		}
	}
	return devices
}

// attributesOf writes all attributes with their domain: without one it is the driver's (resource.k8s.io QualifiedName).
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
