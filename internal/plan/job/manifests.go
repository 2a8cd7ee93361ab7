package job

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/plan/manifests"
	"github.com/railhead/railhead/internal/workload"
)

// Namespaces returns the namespaces of the manifests with pods, each once.
func (o Options) Namespaces(all manifests.List) []string {
	var names []string
	for _, m := range all {
		own := manifests.Namespace(m, o.Namespace)
		if _, known := o.KindOf(m); known && !slices.Contains(names, own) {
			names = append(names, own)
		}
	}
	return names
}

// KindOf returns the kind of a manifest with pods. One that railhead does not know has its templates at TemplatePaths.
func (o Options) KindOf(m unstructured.Unstructured) (workload.Kind, bool) {
	if k, known := workload.Of(workload.KindName(m.GetAPIVersion(), m.GetKind())); known {
		return k, true
	}
	k := workload.AtPaths(m.Object, o.TemplatePaths)
	return k, len(k.Templates) > 0
}

// InjectAll injects into every manifest with pods, and puts the ConfigMaps that they mount first. states has the State
// of each namespace, and a manifest without one gets that of its rails. Objects without pods stay unchanged. It fails
// for one with pods of a kind that railhead does not know, and if no manifest has pods.
func InjectAll(all manifests.List, states map[string]cluster.State, o Options) (manifests.List, plan.Draft) {
	var out, parts manifests.List
	var draft plan.Draft
	var hasPods bool
	for _, m := range all {
		k, known := o.KindOf(m)
		if !known && len(workload.TemplatePaths(m.Object)) == 0 {
			out = append(out, m)
			continue
		}
		hasPods = true
		s := states[manifests.Namespace(m, o.Namespace)]
		injected, j := inject(m, s, o)
		if known && !k.Cluster { // kubectl would otherwise put it in the namespace of its context
			injected.SetNamespace(manifests.Namespace(m, o.Namespace))
		}
		draft.Report(j.Findings...)
		for _, note := range j.Notes {
			if !slices.Contains(draft.Notes, note) { // manifests of a namespace have most notes in common
				draft.Notes = append(draft.Notes, note)
			}
		}
		out = append(out, injected)
		for _, part := range j.injectionParts() {
			if !parts.Has(part) && !all.Has(part) {
				parts = append(parts, part)
			}
		}
	}
	if !hasPods && len(all) > 0 {
		_, draft.Findings = Inject(all[0], cluster.State{}, o)
	}
	return append(parts, out...), draft
}
