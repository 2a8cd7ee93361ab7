package job

import (
	"cmp"
	"fmt"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/rules/pods"
	"github.com/railhead/railhead/internal/words"
	"github.com/railhead/railhead/internal/workload"
)

// Done is done when n pods of a job are ready, or have ended well: of the job as its controller is told to make it,
// where the state has the StatefulSet. It is stuck when one of them will not get there by itself, and says why.
func Done(name, namespace string, n int) plan.Condition {
	return func(s cluster.State) plan.Progress {
		if p := s.Problem(cluster.StatefulSets); p != nil {
			return plan.Progress{Text: "whether the change has taken effect could not be read: " + p.Err}
		}
		present := workload.PodsOf(s, name, namespace)
		outdated := workload.Outdated(s, name, namespace)
		p := plan.Progress{}
		ready := 0
		for _, pod := range present {
			if outdated(pod) {
				p.Items = append(p.Items, plan.Item{
					Name:  pod.Name,
					State: podItem(pod).State,
					Note:  "from before the change: it is replaced",
				})
				continue
			}
			item := podItem(pod)
			if item.Done {
				ready++
			}
			if o, wrong := plan.ExplainPod(s, pod); wrong {
				item.Note = o.Summary
				p.AddObstacle(o)
			}
			p.Items = append(p.Items, item)
		}
		if len(present) < n {
			missing := plan.Item{
				Name:  fmt.Sprintf("%s not made", words.Count(n-len(present), "pod")),
				State: plan.Waiting,
				Note:  "their controller makes them",
			}
			if o, wrong := pods.Explain(
				workload.Missing(s, name, namespace), workload.EventsOf(s, name, namespace), s,
			); wrong {
				missing.Note = o.Summary
				p.AddObstacle(o)
			}
			p.Items = append(p.Items, missing)
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

func podItem(pod cluster.Pod) plan.Item {
	item := plan.Item{Name: pod.Name, State: pod.Phase, Note: cmp.Or(pod.Node, "no node yet")}
	switch {
	case pod.Deleted:
		item.State = "Terminating"
	case pod.Phase == "Succeeded", pod.Ready:
		item.Done = true
	}
	for _, c := range pod.Containers {
		if !item.Done && c.Waiting != "" && !pod.Deleted {
			item.State = c.Waiting
			break // init containers come first, and the others wait for them
		}
	}
	return item
}
