package job

import (
	"fmt"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/workload"
)

// replaced refuses a job whose name another kind or type of job has.
func (j *request) replaced() {
	reason := ""
	k, live, exists := workload.Find(j.s, j.Name, j.Namespace)
	switch wanted := j.workload().GVK.Kind; {
	case !exists:
		return
	case k.GVK.Kind != wanted:
		reason = fmt.Sprintf("%s already exists as a %s, so it cannot be deployed as a %s", j.Name, k.GVK.Kind, wanted)
	case j.Kind == StatefulSet && (workload.Field(live.Fields, "spec.serviceName") == j.service()) != j.multi():
		reason = fmt.Sprintf("%s already exists with another --type, which cannot be changed in a StatefulSet", j.Name)
	default:
		return
	}
	j.replace(reason, evidence("namespace/"+j.Namespace, reason, ""))
}

// replace refuses a job that the existing one prevents.
func (j *request) replace(reason string, e check.Evidence) {
	j.fail(JobReplaced, j.ref(), reason, e, check.ByUser("Delete it first, or choose another name.",
		fmt.Sprintf("railhead delete %s -n %s", j.Name, j.Namespace)))
}

// unchanged refuses a change of fields that the server rejects.
func (j *job) unchanged() {
	k := j.workload()
	live, exists := j.s.Object(k.GVK.Kind, j.Namespace, j.Name)
	if len(k.Fixed) == 0 || !exists {
		return
	}
	want := j.jobSetObject(j.template(j.delivery())).Object
	for _, field := range k.Fixed {
		path := "spec." + field
		wanted := map[string]any{field: workload.Field(want, path)}
		if !plan.Covers(map[string]any{field: workload.Field(live.Fields, path)}, wanted) {
			j.replace(fmt.Sprintf("%s exists with other settings, and a %s cannot be changed", j.Name, k.GVK.Kind),
				evidence(k.GVK.Kind+"/"+j.Name+" "+path, "immutable, and different from this request", "the same"))
			return
		}
	}
}
