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
	j.draft.Add(namespaceReady(j.s, targetOf(&j.job.Options)))
	j.draft.Add(replacedByFlags(&j.job.Options, j.s))
	if workloadOf(&j.job.Options).Recreates && hasCommand(&j.job.Options) {
		j.draft.Note("A %s restarts the command whenever it ends, also after success; --kind job runs it once.",
			workloadOf(&j.job.Options).GVK.Kind)
	}
}

func namespaceReady(s cluster.State, job plan.Target) (d plan.Draft) {
	n, ok := s.Namespace(job.Namespace)
	switch {
	case ok && n.Terminating:
		d.Fail(plan.NamespaceReady, job.NamespaceRef(), "namespace "+job.Namespace+" is being deleted",
			check.Observed("status.phase", "Terminating", "Active"),
			check.ByUser("Wait until it is deleted, then set it up again.",
				"kubectl get namespace "+job.Namespace+" -o yaml", job.SetUpCommand()))
	case !ok && s.Knows(cluster.Namespaces):
		d.Fail(plan.NamespaceReady, job.NamespaceRef(), "namespace "+job.Namespace+" does not exist",
			check.Observed("namespaces", "not found", job.Namespace),
			check.ByAdmin("Set it up.", job.SetUpCommand()))
	case !ok:
		d.Unknown(s, plan.NamespaceReady, cluster.Namespaces,
			"whether namespace "+job.Namespace+" exists could not be read")
	}
	return d
}

// replacedByFlags refuses a job whose name another kind or type of job has.
func replacedByFlags(o *Options, s cluster.State) (d plan.Draft) {
	if s.Problem(cluster.JobObjects) != nil {
		d.Unknown(s, JobReplaced, cluster.JobObjects,
			"whether "+o.Name+" already exists as a job of another kind could not be read")
	}
	reason := ""
	k, live, exists := workload.Find(s, o.Name, o.Namespace)
	switch wanted := workloadOf(o).GVK.Kind; {
	case !exists:
		return d
	case k.GVK.Kind != wanted:
		reason = fmt.Sprintf("%s already exists as a %s, so it cannot be deployed as a %s", o.Name, k.GVK.Kind, wanted)
	case o.Kind == StatefulSet && (workload.Field(live.Fields, "spec.serviceName") == serviceName(o)) != isMulti(o):
		reason = fmt.Sprintf("%s already exists with another --type, which cannot be changed in a StatefulSet", o.Name)
	default:
		return d
	}
	d.Report(prevented(targetOf(o), reason, check.Observed("namespace/"+o.Namespace, reason, "")))
	return d
}

// prevented refuses a job that the existing one prevents.
func prevented(job plan.Target, reason string, seen []check.Evidence) check.Finding {
	return plan.Failure(JobReplaced, job.Ref(), reason, seen, check.ByUser("Delete it first, or choose another name.",
		fmt.Sprintf("railhead delete %s -n %s", job.Name, job.Namespace)))
}

// unchanged refuses a change of fields that the server rejects.
func (j *request) unchanged() {
	k := workloadOf(&j.job.Options)
	live, exists := j.s.Object(k.GVK.Kind, j.job.Namespace, j.job.Name)
	if len(k.Fixed) == 0 || !exists {
		return
	}
	want := writer{j.job.Options}.workloadObject(j.job.template(j.job.delivery())).Object
	for _, field := range k.Fixed {
		path := "spec." + field
		wanted := map[string]any{field: workload.Field(want, path)}
		applied, _ := workload.Field(live.Applied, "f:spec.f:"+field).(map[string]any)
		if !plan.Covers(map[string]any{field: workload.Field(live.Fields, path)}, wanted,
			j.job.Scheduling.grows()...) ||
			plan.Drops(applied, wanted[field]) {
			j.draft.Report(prevented(targetOf(&j.job.Options),
				fmt.Sprintf("%s exists with other settings, and a %s cannot be changed", j.job.Name, k.GVK.Kind),
				check.Observed(k.GVK.Kind+"/"+j.job.Name+" "+path,
					"immutable, and different from this request", "the same")))
			return
		}
	}
}
