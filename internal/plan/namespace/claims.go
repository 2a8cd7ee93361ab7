package namespace

import (
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/words"
)

// claimsRails reports whether jobs claim their rails, because the namespace has and gets no attachment for them.
func claimsRails(d *draft) bool {
	return len(d.s.UsableRails(d.Namespace))+len(d.planned) == 0 && len(d.s.ClaimRails()) > 0
}

// classes returns the device classes of the drivers that offer rails and have none: claims must name one.
func (d *draft) classes() plan.Step {
	step := plan.Step{ID: "classes", Title: "Create the device classes of the rails"}
	perDriver := map[string][]string{}
	var drivers []string
	for _, r := range d.s.ClaimRails() {
		if perDriver[r.Driver] == nil {
			drivers = append(drivers, r.Driver)
		}
		perDriver[r.Driver] = append(perDriver[r.Driver], r.Network)
	}
	for _, driver := range drivers {
		d.plan.Note("Namespace %s needs no attachments: jobs claim their rails from the DRA driver %s (%s).",
			d.Namespace, driver, words.Few(perDriver[driver], 8))
		if _, found := d.s.ClassOf(driver); found {
			continue
		}
		if !d.s.Knows(cluster.DeviceClasses) {
			f := plan.Unreadable(d.s, cluster.DeviceClasses)[0]
			f.Status = check.Unknown
			d.plan.Report(f)
			continue
		}
		class := resourcev1.DeviceClass{
			ObjectMeta: metav1.ObjectMeta{Name: driver, Labels: plan.Labels(ComponentNamespace, "")},
			Spec: resourcev1.DeviceClassSpec{Selectors: []resourcev1.DeviceSelector{{
				CEL: &resourcev1.CELDeviceSelector{Expression: `device.driver == "` + driver + `"`},
			}}},
		}
		step.Changes = append(step.Changes, plan.Change{
			Verb:   plan.Apply,
			Object: plan.Typed(resourcev1.SchemeGroupVersion.WithKind("DeviceClass"), &class),
			Why:    "lets pods claim the devices of " + driver + "; there is one for the whole cluster",
		})
	}
	return step
}
