package kube

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/railhead/railhead/internal/cluster"
)

// deviceSelectors are selectors in any version of resource.k8s.io.
type deviceSelectors []struct {
	CEL struct {
		Expression string `json:"expression"`
	} `json:"cel"`
}

func (all deviceSelectors) expressions() []string {
	var expressions []string
	for _, s := range all {
		expressions = append(expressions, s.CEL.Expression)
	}
	return expressions
}

type deviceClass struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Selectors deviceSelectors `json:"selectors"`
	} `json:"spec"`
}

func convertDeviceClass(c *deviceClass) cluster.DeviceClass {
	return cluster.DeviceClass{Name: c.Name, Selectors: c.Spec.Selectors.expressions()}
}

// resourceClaim has the fields of a ResourceClaim that are read, in v1, v1beta2 and v1beta1.
type resourceClaim struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Devices struct {
			Requests []claimRequest `json:"requests"`
		} `json:"devices"`
	} `json:"spec"`
	Status struct {
		Allocation *struct {
			Devices struct {
				Results []struct {
					Request string `json:"request"`
					Driver  string `json:"driver"`
					Pool    string `json:"pool"`
					Device  string `json:"device"`
				} `json:"results"`
			} `json:"devices"`
		} `json:"allocation"`
		ReservedFor []struct {
			Resource string `json:"resource"`
			Name     string `json:"name"`
		} `json:"reservedFor"`
		Devices []struct {
			Driver     string             `json:"driver"`
			Device     string             `json:"device"`
			Conditions []metav1.Condition `json:"conditions"`
		} `json:"devices"`
	} `json:"status"`
}

type claimRequest struct {
	Name    string  `json:"name"`
	exactly         // of v1beta1
	Exactly exactly `json:"exactly"`
}

type exactly struct {
	Class     string          `json:"deviceClassName"`
	Selectors deviceSelectors `json:"selectors"`
}

func convertClaim(c *resourceClaim) cluster.ResourceClaim {
	claim := cluster.ResourceClaim{Namespace: c.Namespace, Name: c.Name}
	for _, o := range c.OwnerReferences {
		if o.Kind == "Pod" {
			claim.Pod = o.Name
		}
	}
	for _, r := range c.Spec.Devices.Requests {
		claim.Requests = append(claim.Requests, cluster.ClaimRequest{
			Name:      r.Name,
			Class:     cmp.Or(r.Exactly.Class, r.Class),
			Selectors: append(r.Exactly.Selectors, r.Selectors...).expressions(),
		})
	}
	if a := c.Status.Allocation; a != nil {
		claim.Allocated = true
		for _, r := range a.Devices.Results {
			device := cluster.ClaimedDevice{Request: r.Request, Driver: r.Driver, Pool: r.Pool, Name: r.Device}
			claim.Devices = append(claim.Devices, device)
		}
	}
	for _, u := range c.Status.ReservedFor {
		if u.Resource == "pods" {
			claim.Users = append(claim.Users, u.Name)
		}
	}
	for _, d := range c.Status.Devices {
		for _, condition := range d.Conditions {
			claim.Conditions = append(claim.Conditions, cluster.DeviceCondition{
				Driver:  d.Driver,
				Device:  d.Device,
				Type:    condition.Type,
				Status:  string(condition.Status),
				Reason:  condition.Reason,
				Message: condition.Message,
			})
		}
	}
	return claim
}
