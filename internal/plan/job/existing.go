package job

import (
	"fmt"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/workload"
)

// Conditions for writing a job.
const (
	JobReplaced       check.ID = "job-replaced"
	RequiredResources check.ID = "required-resources"
	JobFound          check.ID = "job-found"
	ManifestSuitable  check.ID = "manifest-suitable"
)

// place checks the namespace and the existing objects of the job.
func (j *request) place() {
	n, ok := j.s.Namespace(j.Namespace)
	switch {
	case ok && n.Terminating:
		j.Fail(plan.NamespaceReady, j.target().NamespaceRef(), "namespace "+j.Namespace+" is being deleted",
			check.Observed("status.phase", "Terminating", "Active"),
			check.ByUser("Wait until it is deleted, then set it up again.",
				"kubectl get namespace "+j.Namespace+" -o yaml", j.target().SetUpCommand()))
	case !ok && j.s.Knows(cluster.Namespaces):
		j.Fail(plan.NamespaceReady, j.target().NamespaceRef(), "namespace "+j.Namespace+" does not exist",
			check.Observed("namespaces", "not found", j.Namespace),
			check.ByAdmin("Set it up.", j.target().SetUpCommand()))
	case !ok:
		j.Unknown(j.s, plan.NamespaceReady, cluster.Namespaces,
			"whether namespace "+j.Namespace+" exists could not be read")
	}
	j.replaced()
	if j.workload().Recreates && j.hasCommand() {
		j.Note("A %s restarts the command whenever it ends, also after success; --kind job runs it once.",
			j.workload().GVK.Kind)
	}
}

// replaced refuses a job whose name another kind or type of job has.
func (j *request) replaced() {
	if j.s.Problem(cluster.JobObjects) != nil {
		j.Unknown(j.s, JobReplaced, cluster.JobObjects,
			"whether "+j.Name+" already exists as a job of another kind could not be read")
	}
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
	j.replace(reason, check.Observed("namespace/"+j.Namespace, reason, ""))
}

// replace refuses a job that the existing one prevents.
func (j *request) replace(reason string, seen []check.Evidence) {
	j.Fail(JobReplaced, j.target().Ref(), reason, seen, check.ByUser("Delete it first, or choose another name.",
		fmt.Sprintf("railhead delete %s -n %s", j.Name, j.Namespace)))
}

// unchanged refuses a change of fields that the server rejects.
func (j *job) unchanged() {
	k := j.workload()
	live, exists := j.s.Object(k.GVK.Kind, j.Namespace, j.Name)
	if len(k.Fixed) == 0 || !exists {
		return
	}
	want := j.workloadObject(j.template(j.delivery())).Object
	for _, field := range k.Fixed {
		path := "spec." + field
		wanted := map[string]any{field: workload.Field(want, path)}
		if !plan.Covers(map[string]any{field: workload.Field(live.Fields, path)}, wanted, j.grows()...) {
			j.replace(fmt.Sprintf("%s exists with other settings, and a %s cannot be changed", j.Name, k.GVK.Kind),
				check.Observed(k.GVK.Kind+"/"+j.Name+" "+path,
					"immutable, and different from this request", "the same"))
			return
		}
	}
}
