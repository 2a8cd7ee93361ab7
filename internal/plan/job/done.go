package job

import (
	"cmp"
	"fmt"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/rules/clusterrules"
	"github.com/railhead/railhead/internal/rules/pods"
	"github.com/railhead/railhead/internal/words"
	"github.com/railhead/railhead/internal/workload"
)

// Done is done when n pods of a job are ready or have succeeded; if the State has the StatefulSet, only pods of its
// latest revision count. It is stuck if a pod needs a fix.
func Done(name, namespace string, n int) plan.Condition {
	return done(workload.Ref{Name: name}, namespace, n)
}

func done(ref workload.Ref, namespace string, n int) plan.Condition {
	name := ref.Name
	return func(s cluster.State) plan.Progress {
		if p := s.Problem(cluster.StatefulSets); p != nil {
			return plan.Progress{Text: "whether the change has taken effect could not be read: " + p.Err}
		}
		if p, held := suspended(s, ref, namespace, n); held {
			return p
		}
		var p plan.Progress
		add := func(item plan.Item, o check.Obstacle, wrong bool) {
			if wrong {
				item.Note = o.Summary
				p.AddObstacle(o)
			}
			p.Items = append(p.Items, item)
		}
		present, outdated, ready := workload.PodsOf(s, ref, namespace), workload.Outdated(s, ref, namespace), 0
		for _, pod := range present {
			item := PodItem(pod)
			if outdated(pod) {
				item.Done, item.Note = false, "outdated: it will be replaced"
				p.Items = append(p.Items, item)
				continue
			}
			if item.Done {
				ready++
			}
			o, wrong := plan.ExplainPod(s, pod)
			add(item, o, wrong)
		}
		if len(present) < n {
			missing := words.Count(n-len(present), "pod") + " missing"
			o, wrong := pods.Explain(workload.Missing(s, name, namespace), workload.EventsOf(s, name, namespace), s)
			add(plan.Item{Name: missing, State: plan.Waiting, Note: "the controller creates them"}, o, wrong)
		}
		p.Done = ready >= n
		if p.Done {
			p.Stuck, p.Doubt = nil, nil
		}
		p.Text = fmt.Sprintf("%s: %d of %s ready", name, ready, words.Count(n, "pod"))
		p.Bars = []plan.Bar{{Name: name, Count: min(ready, n), Total: n}}
		return p
	}
}

// suspended returns the progress of a job that makes no pods because it is suspended, as Kueue does until its queue
// admits it. It is stuck if the queue never will.
func suspended(s cluster.State, ref workload.Ref, namespace string, n int) (p plan.Progress, held bool) {
	f, _ := workload.Lookup(s, ref, namespace) // without an object it is not suspended
	why, held := clusterrules.Suspended(s, clusterrules.Options{Namespace: namespace, Job: ref}, f)
	if held {
		p.AddObstacle(check.Obstacle{Finding: why})
		p.Queued, p.Text = p.Stuck == nil, ref.Name+": "+why.Summary
		p.Items = []plan.Item{{Name: words.Count(n, "pod"), State: plan.Waiting}}
	}
	return p, held
}

// PodItem shows the state of a pod; it is done when it is ready or has succeeded.
func PodItem(pod cluster.Pod) plan.Item {
	item := plan.Item{Name: pod.Name, State: pod.Phase, Note: cmp.Or(pod.Node, "no node yet")}
	switch {
	case pod.Deleted:
		item.State = "Terminating"
		return item
	case pod.Phase == "Succeeded", pod.Ready:
		item.Done = true
		return item
	}
	for _, c := range pod.Containers {
		if c.Waiting != "" {
			item.State = c.Waiting
			break // init containers come first, and the others wait for them
		}
	}
	return item
}
