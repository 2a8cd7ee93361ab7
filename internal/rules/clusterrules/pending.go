package clusterrules

import (
	"slices"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/rules/pods"
	"github.com/railhead/railhead/internal/workload"
)

// pendingPods explains why pods do not run, from their own events. A pod that failed is history if its workload has all
// its pods again: a Job and a Deployment keep it beside the one in its place.
func pendingPods(s cluster.State) []check.Finding {
	of := map[string][]cluster.Event{}
	for _, e := range s.Events {
		key := e.Namespace + "/" + e.Object
		of[key] = append(of[key], e)
	}
	var findings []check.Finding
	explainer := pods.Of(s)
	replaced := replacedPods(s)
	for _, p := range detailed(s) {
		if replaced[check.PodRef(p.Namespace, p.Name)] {
			continue
		}
		events := slices.DeleteFunc(of[p.Namespace+"/Pod/"+p.Name], func(e cluster.Event) bool {
			return e.UID != "" && p.UID != "" && e.UID != p.UID // of a former pod of the same name
		})
		if o, wrong := explainer.Explain(p, events); wrong {
			findings = append(findings, o.Finding)
		}
	}
	return findings
}

// replacedPods returns the failed pods of workloads all of whose pods are ready or have succeeded.
func replacedPods(s cluster.State) map[check.Ref]bool {
	replaced := map[check.Ref]bool{}
	for _, f := range workload.Families(s) {
		ready, _ := f.Count()
		for _, p := range f.Pods {
			if p.Phase == "Failed" && f.Size > 0 && ready+f.Succeeded() >= f.Size {
				replaced[check.PodRef(p.Namespace, p.Name)] = true
			}
		}
	}
	return replaced
}

// detailed returns the pods that were read with their containers, which are those that were asked about.
func detailed(s cluster.State) []cluster.Pod {
	return slices.DeleteFunc(slices.Clone(s.Pods), func(p cluster.Pod) bool {
		return len(p.Containers) == 0 || p.Phase == "Succeeded"
	})
}
