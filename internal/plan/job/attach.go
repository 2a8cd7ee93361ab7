package job

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan/podspec"
)

const networksAnnotation = cluster.NetworksAnnotation

// attach lists the rails in the annotation and requests one device for each.
func (p podShape) attach(template, main map[string]any) error {
	if len(p.job.rails) > 0 {
		listed, err := podspec.NetworksOf(template)
		if err != nil {
			return err
		}
		text, err := listed.With(p.job.Namespace, cluster.RailNames(p.job.rails)...)
		if err != nil {
			return err
		}
		podspec.Child(podspec.Child(template, "metadata"), "annotations")[networksAnnotation] = text
	}
	for name, n := range perResource(p.job.rails) {
		for _, kind := range []string{"requests", "limits"} {
			have, err := resource.ParseQuantity(fmt.Sprint(podspec.Amounts(main, kind)[name]))
			if err == nil && have.Value() > n {
				n = have.Value()
			}
		}
		// Requests and limits of devices are equal (kubernetes pkg/apis/core/validation).
		podspec.Set(main, name, fmt.Sprint(n))
	}
	return nil
}

// perResource returns the devices of each resource that a pod needs: one for each rail.
func perResource(rails []cluster.Rail) map[string]int64 {
	devices := map[string]int64{}
	for _, r := range rails {
		if r.Driver == "" { // claimed rails are no resources
			devices[r.Resource]++
		}
	}
	return devices
}
