package cluster

import (
	"slices"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/rules/pods"
)

// pendingPods explains why pods do not run, from their own events.
func pendingPods(s cluster.State) []check.Finding {
	of := map[string][]cluster.Event{}
	for _, e := range s.Events {
		key := e.Namespace + "/" + e.Object
		of[key] = append(of[key], e)
	}
	var findings []check.Finding
	explainer := pods.Of(s)
	for _, p := range detailed(s) {
		events := slices.DeleteFunc(of[p.Namespace+"/Pod/"+p.Name], func(e cluster.Event) bool {
			return e.UID != "" && p.UID != "" && e.UID != p.UID // of a former pod of the same name
		})
		if o, wrong := explainer.Explain(p, events); wrong {
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
