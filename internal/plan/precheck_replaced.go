package plan

import (
	"fmt"

	"github.com/railhead/railhead/internal/check"
)

// replaced judges a job of that name which is there in another shape.
func (j *job) replaced() {
	kind, other := "StatefulSet", "JobSet"
	if j.o.Kind == JobSet {
		kind, other = other, kind
	}
	reason := ""
	if _, there := object(j.s, other, j.o.Namespace, j.o.Name); there {
		reason = fmt.Sprintf("%s is there as a %s, and shall be a %s", j.o.Name, other, kind)
	}
	if live, there := object(j.s, kind, j.o.Namespace, j.o.Name); there {
		service, _ := nested(live.Fields, "spec", "serviceName")
		if kind == "StatefulSet" && (service == j.service()) != j.multi() {
			reason = fmt.Sprintf("%s is there with another --type, which a StatefulSet cannot change", j.o.Name)
		}
	}
	if reason != "" {
		j.replace(reason, check.Evidence{Source: "namespace/" + j.o.Namespace, Got: reason})
	}
}

// replace says that the job that is there has to go before the wanted one comes.
func (j *job) replace(reason string, e check.Evidence) {
	j.fail(JobReplaced, "job/"+j.o.Name, reason, e, check.Fix{Text: "Delete it first, or take another name.", Who: check.User,
		Commands: []string{fmt.Sprintf("railhead delete %s -n %s", j.o.Name, j.o.Namespace)}})
}

// fixedInJobSets are the fields of a JobSet that its webhook and its schema let nobody change (sigs.k8s.io/jobset v0.8.2
// pkg/webhooks/jobset_webhook.go ValidateUpdate, api/jobset/v1alpha2).
var fixedInJobSets = []string{"replicatedJobs", "network", "failurePolicy"}

// unchanged refuses to change what of a JobSet cannot be changed, before the server does.
func (j *job) unchanged() {
	live, there := object(j.s, "JobSet", j.o.Namespace, j.o.Name)
	if j.o.Kind != JobSet || !there || check.Worst(j.findings) == check.Fail {
		return
	}
	want := j.jobSetObject(j.template(j.delivery())).Object
	for _, field := range fixedInJobSets {
		is, _ := nested(live.Fields, "spec", field)
		shall, _ := nested(want, "spec", field)
		if !coversValue(field, is, shall) {
			j.replace(j.o.Name+" is there as another JobSet, and a JobSet cannot be changed",
				check.Evidence{Source: "JobSet/" + j.o.Name + " spec." + field, Got: "immutable, and not what is asked for now", Want: "the same"})
			return
		}
	}
}
