package clusterrules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/rules/pods"
	"github.com/railhead/railhead/internal/workload"
)

// Suspended explains a workload that makes no pods because it is suspended. Kueue suspends a job until its queue admits
// it, and reports why in events of its own Workload (kueue pkg/controller/jobframework: KIND-NAME-HASH). One that a
// person suspended is reported only if it was asked about.
func Suspended(s cluster.State, o Options, f workload.Family) (check.Finding, bool) {
	if !slices.ContainsFunc(f.Conditions, func(c cluster.Condition) bool { return c.Type == "Suspended" }) {
		return check.Finding{}, false
	}
	var events []cluster.Event
	for _, e := range s.Events {
		kind, name, _ := strings.Cut(e.Object, "/")
		if kind == "Workload" && e.Namespace == f.Namespace &&
			strings.HasPrefix(name, strings.ToLower(f.Kind)+"-"+f.Name+"-") {
			e.Type = "" // earlier releases call it Normal
			events = append(events, e)
		}
	}
	pod := podToCreate(f)
	pod.Name = f.Kind + " " + f.Name
	if why, known := pods.Explain(pod, events, s); known && why.Check == pods.QueueAdmission {
		why.Subject = jobRef(f)
		return why.Finding, true
	}
	return check.Finding{
		Check: pods.QueueAdmission, Status: check.Warn, Subject: jobRef(f),
		Summary:  pod.Name + " is suspended: a queue has not admitted it, or a person suspended it",
		Evidence: check.Observed("condition Suspended of "+f.Kind+"/"+f.Name, "true", "false"),
		Fix: check.ByUser("If it is in a queue of Kueue, its Workload says why it waits.",
			fmt.Sprintf("kubectl -n %s get workloads.kueue.x-k8s.io -o wide", f.Namespace), describe(f)),
	}, o.Job.Name != ""
}
