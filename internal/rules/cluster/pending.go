package cluster

import (
	"fmt"
	"slices"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/rules/pods"
	"github.com/railhead/railhead/internal/words"
	"github.com/railhead/railhead/internal/workload"
)

// pendingPods explains why pods do not run, from their own events.
func pendingPods(s cluster.State) []check.Finding {
	of := map[string][]cluster.Event{}
	for _, e := range s.Events {
		key := e.Namespace + "/" + e.Object
		of[key] = append(of[key], e)
	}
	var findings []check.Finding
	for _, p := range detailed(s) {
		events := slices.DeleteFunc(of[p.Namespace+"/Pod/"+p.Name], func(e cluster.Event) bool {
			return e.UID != "" && p.UID != "" && e.UID != p.UID // of a former pod of the same name
		})
		if o, wrong := pods.Explain(p, events, s); wrong {
			findings = append(findings, o.Finding)
		}
	}
	return findings
}

// detailed returns the pods that were read with their containers, which are those that were asked about.
func detailed(s cluster.State) []cluster.Pod {
	return slices.DeleteFunc(slices.Clone(s.Pods), func(p cluster.Pod) bool {
		return len(p.Containers) == 0 || p.Phase == "Succeeded"
	})
}

// missingPods explains why the controllers of jobs did not create all of their pods: of one job, or of all that
// Railhead deployed in a namespace.
func missingPods(s cluster.State, o Options) []check.Finding {
	if o.Job != "" {
		return missingOf(s, o.Job, o.Namespace)
	}
	var findings []check.Finding
	for _, object := range s.Objects {
		if _, found, ok := workload.Find(s, object.Name, object.Namespace); ok && found.Kind == object.Kind &&
			object.Namespace == o.Namespace {
			findings = append(findings, missingOf(s, object.Name, object.Namespace)...)
		}
	}
	return findings
}

func missingOf(s cluster.State, job, namespace string) []check.Finding {
	size, present := workload.SizeOf(s, job, namespace), workload.PodsOf(s, job, namespace)
	if size == 0 || len(present) >= size {
		return nil
	}
	subject := check.Ref{Kind: check.Job, Namespace: namespace, Name: job}
	if o, wrong := pods.Explain(workload.Missing(s, job, namespace), workload.EventsOf(s, job, namespace), s); wrong {
		o.Subject = subject
		return []check.Finding{withAccount(o.Finding, s)}
	}
	return []check.Finding{{
		Check: pods.PodPending, Status: check.Warn, Subject: subject,
		Summary: fmt.Sprintf("job %s has %d of %s, for an unknown reason",
			job, len(present), words.Count(size, "pod")),
		Evidence: check.Observed("pods of job "+job, fmt.Sprint(len(present)), fmt.Sprint(size)),
		Fix: check.ByUser("Read the events of its controller.",
			fmt.Sprintf("kubectl -n %s describe statefulset %s", namespace, job)),
	}}
}
