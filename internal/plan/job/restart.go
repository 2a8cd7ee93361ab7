package job

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/words"
	"github.com/railhead/railhead/internal/workload"
)

// Restart returns the plan that deletes the pods of a job, all at once. Its controller creates new ones.
func Restart(f workload.Family) (plan.Plan, []check.Finding) {
	if k, _ := workload.Of(f.Kind); !k.Recreates {
		return plan.Plan{}, []check.Finding{cannotRestart(f)}
	}
	step := plan.Step{
		ID:         "restart",
		Title:      fmt.Sprintf("Replace %s of %s", words.Count(len(f.Pods), "pod"), f.Name),
		Disruption: plan.Disruption{RestartsPods: true},
		Watch:      []cluster.Kind{cluster.Pods, cluster.Events},
	}
	ref := workload.Ref{Name: f.Name}
	if !f.Deployed() { // then no label of a pod names the job
		ref.Kind, step.Watch = f.Kind, append(step.Watch, cluster.Workloads)
	}
	old := map[string]bool{}
	for _, p := range f.Pods {
		old[p.UID] = true
		pod := cluster.Object{APIVersion: "v1", Kind: "Pod", Namespace: p.Namespace, Name: p.Name}
		c := plan.Deletion(pod, "the "+f.Kind+" creates a new one")
		c.Object.SetUID(types.UID(p.UID))
		step.Changes = append(step.Changes, c)
	}
	ready := done(ref, f.Namespace, f.Size)
	step.Done = func(s cluster.State) plan.Progress {
		progress := ready(s)
		for _, p := range s.Pods {
			progress.Done = progress.Done && !old[p.UID]
		}
		return progress
	}
	p := plan.Plan{Title: fmt.Sprintf("Restart %s in namespace %s", f.Name, f.Namespace)}
	if len(f.Pods) > 0 {
		p.Steps = []plan.Step{step}
	}
	return p, nil
}

func cannotRestart(f workload.Family) check.Finding {
	ref := workload.RefOf(f.Workload).String()
	fix := check.ByUser("Delete it and create it again, as it was created.",
		fmt.Sprintf("kubectl -n %s delete %s", f.Namespace, ref))
	if f.Deployed() {
		fix = check.ByUser("Delete it and deploy it again with the same flags.",
			fmt.Sprintf("railhead delete %s -n %s", ref, f.Namespace),
			fmt.Sprintf("railhead deploy %s -n %s ...", f.Name, f.Namespace))
	}
	return plan.Failure(plan.JobRequest, check.Ref{Kind: check.Job, Namespace: f.Namespace, Name: f.Name},
		fmt.Sprintf("the pods of %s cannot be restarted: a %s is not known to replace a deleted pod and "+
			"keep running", ref, f.Kind),
		check.Observed("kind of the workload", f.Kind, "one of "+strings.Join(workload.Recreating(), ", ")), fix)
}
