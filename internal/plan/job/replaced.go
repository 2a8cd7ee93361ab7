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
	k, live, there := workload.Find(j.s, j.o.Name, j.o.Namespace)
	switch wanted := j.kind().GVK.Kind; {
	case !there:
		return
	case k.GVK.Kind != wanted:
		reason = fmt.Sprintf("%s is a %s already, so it cannot be deployed as a %s", j.o.Name, k.GVK.Kind, wanted)
	case j.o.Kind == StatefulSet && (workload.Field(live.Fields, "spec.serviceName") == j.service()) != j.multi():
		reason = fmt.Sprintf("%s runs with another --type, which cannot be changed in a StatefulSet", j.o.Name)
	default:
		return
	}
	j.replace(reason, check.Evidence{Source: "namespace/" + j.o.Namespace, Got: reason})
}

// replace says that the job that is there has to go before the wanted one comes.
func (j *request) replace(reason string, e check.Evidence) {
	j.fail(JobReplaced, check.Named(check.Job, j.o.Name), reason, e, check.Fix{
		Text:     "Delete it first, or take another name.",
		Who:      check.User,
		Commands: []string{fmt.Sprintf("railhead delete %s -n %s", j.o.Name, j.o.Namespace)},
	})
}

// unchanged refuses to change fields that the server would not let change.
func (j *job) unchanged() {
	k := j.kind()
	live, there := j.s.Object(k.GVK.Kind, j.o.Namespace, j.o.Name)
	if len(k.Fixed) == 0 || !there || check.Worst(j.findings) == check.Fail {
		return
	}
	want := j.jobSetObject(j.template(j.delivery())).Object
	for _, field := range k.Fixed {
		path := "spec." + field
		is := map[string]any{field: workload.Field(live.Fields, path)}
		if !plan.Covers(is, map[string]any{field: workload.Field(want, path)}) {
			j.replace(
				fmt.Sprintf("%s exists with other settings, and a %s cannot be changed", j.o.Name, k.GVK.Kind),
				check.Evidence{
					Source: k.GVK.Kind + "/" + j.o.Name + " " + path,
					Got:    "immutable, and different from this request",
					Want:   "the same",
				},
			)
			return
		}
	}
}
