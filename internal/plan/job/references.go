package job

import (
	"slices"
	"strconv"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/rules/pods"
	"github.com/railhead/railhead/internal/words"
)

// reference is an object that an option names. Without a PriorityClass or RuntimeClass the API server refuses the pods
// (kubernetes plugin/pkg/admission/priority, runtimeclass); without a LocalQueue Kueue leaves the job suspended.
type reference struct {
	flag, value, what string
	list              cluster.Kind
	existing          []string
}

// references returns the objects that the options name.
func (s Scheduling) references(state cluster.State, namespace string) []reference {
	all := []reference{
		{flag: "--priority-class", value: s.PriorityClass, what: "PriorityClass", list: cluster.PriorityClasses},
		{flag: "--runtime-class", value: s.RuntimeClass, what: "RuntimeClass", list: cluster.RuntimeClasses},
		{flag: "--queue", value: s.Queue, what: "LocalQueue of namespace " + namespace, list: cluster.LocalQueues},
	}
	for _, c := range state.PriorityClasses {
		all[0].existing = append(all[0].existing, c.Name)
	}
	for _, c := range state.RuntimeClasses {
		all[1].existing = append(all[1].existing, c.Name)
	}
	for _, q := range state.LocalQueues {
		if q.Namespace == namespace {
			all[2].existing = append(all[2].existing, q.Name)
		}
	}
	return slices.DeleteFunc(all, func(r reference) bool { return r.value == "" })
}

// referencesExist refuses the names of objects that do not exist.
func (s Scheduling) referencesExist(state cluster.State, job plan.Target) (d plan.Draft) {
	for _, r := range s.references(state, job.Namespace) {
		switch {
		case !state.Knows(r.list):
			d.Unknown(state, plan.JobRequest, r.list, "whether "+r.what+" "+r.value+" exists could not be read")
		case !slices.Contains(r.existing, r.value):
			d.Report(wrong(job, r.flag, strconv.Quote(r.value), "a "+r.what+": "+plan.OrNone(r.existing),
				words.DidYouMean(r.value, r.existing, "Create it, or name an existing one.")))
		}
	}
	return d
}

// grows returns the lists to which others than the user add items. Kueue adds the tolerations of a ResourceFlavor to
// the pods of a job that it admits (kueue pkg/podset Merge).
func (s Scheduling) grows() []string {
	if s.Queue == "" {
		return nil
	}
	return []string{"tolerations"}
}

// queueActive warns if the queue admits nothing.
func (s Scheduling) queueActive(state cluster.State, job plan.Target) (d plan.Draft) {
	for _, q := range state.LocalQueues {
		if q.Namespace != job.Namespace || q.Name != s.Queue || q.Inactive == "" {
			continue
		}
		d.Report(check.Finding{
			Check:    pods.QueueAdmission,
			Status:   check.Warn,
			Subject:  job.Ref(),
			Summary:  "queue " + q.Name + " admits nothing now: " + q.Inactive,
			Evidence: check.Observed("condition Active of LocalQueue/"+q.Name, "False", "True"),
			Fix: check.ByAdmin("Activate or create ClusterQueue "+q.ClusterQueue+".",
				"kubectl get clusterqueues.kueue.x-k8s.io "+q.ClusterQueue+" -o yaml"),
		})
	}
	return d
}
