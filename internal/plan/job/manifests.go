package job

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/plan/manifests"
	"github.com/railhead/railhead/internal/words"
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
// of each namespace. A manifest without a namespace gets the namespace of its rails. Objects without pods stay
// unchanged. So do objects whose pods request no GPU, if pods of other objects do. InjectAll fails if railhead does not
// know the kind of an object with pods, and if no manifest has pods.
func InjectAll(all manifests.List, states map[string]cluster.State, o Options) (manifests.List, plan.Draft) {
	i := fileInjection{Options: o, all: all, states: states}
	chosen := func(m unstructured.Unstructured) bool {
		_, chosen := o.trainingTemplates(m)
		return len(chosen) > 0
	}
	choice, hasPods := slices.ContainsFunc(all, chosen), false
	for _, m := range all {
		k, known := o.KindOf(m)
		switch {
		case !known && len(workload.TemplatePaths(m.Object)) == 0:
			i.withoutPods(m)
		case known && choice && !chosen(m):
			i.keep(m, &i.idle)
		default:
			i.inject(m, known && !k.Cluster)
			hasPods = true
		}
	}
	i.checkPaths()
	switch {
	case hasPods:
		i.note()
	case len(all) > 0 && !i.draft.Failed():
		_, findings := Inject(all[0], cluster.State{}, o)
		i.draft.Report(findings...)
	}
	return append(i.parts, i.out...), i.draft
}

// checkPaths fails for a path at which no manifest has a pod template, and notes one that is not needed.
func (i *fileInjection) checkPaths() {
	for _, path := range i.TemplatePaths {
		has := func(m unstructured.Unstructured) bool {
			return len(workload.AtPaths(m.Object, []string{path}).Templates) > 0
		}
		n := slices.IndexFunc(i.all, has)
		switch {
		case n < 0 && len(i.all) > 0 && !i.draft.Failed():
			i.draft.Fail(ManifestSuitable, objectRef(i.all[0]), "no manifest has a pod template at "+path,
				check.Observed("--template-path", path, "the path of a map with metadata and spec"),
				check.ByUser("Correct --template-path, or omit it for kinds that railhead knows."))
		case n >= 0 && !slices.ContainsFunc(i.all, func(m unstructured.Unstructured) bool {
			_, known := workload.Of(workload.KindName(m.GetAPIVersion(), m.GetKind()))
			return has(m) && !known
		}):
			i.draft.Note("--template-path %s is not used: railhead knows where %s has its pod templates.",
				path, i.all[n].GetKind())
		}
	}
}

// fileInjection collects what InjectAll returns.
type fileInjection struct {
	Options
	all        manifests.List
	states     map[string]cluster.State
	out, parts manifests.List
	draft      plan.Draft
	idle       []string // objects whose pods were not chosen
	unknown    []string // custom objects in which no pods were found
}

// inject injects into a manifest. One that is in a namespace names it then: kubectl would otherwise put it in the
// namespace of its context.
func (i *fileInjection) inject(m unstructured.Unstructured, namespaced bool) {
	ns := manifests.Namespace(m, i.Namespace)
	injected, j := inject(m, i.states[ns], i.Options)
	if namespaced {
		injected.SetNamespace(ns)
	}
	i.out = append(i.out, injected)
	i.draft.Add(j.draft) // manifests of a namespace have most notes in common
	for _, part := range j.injectionParts() {
		if !i.parts.Has(part) && !i.all.Has(part) {
			i.parts = append(i.parts, part)
		}
	}
}

func (i *fileInjection) keep(m unstructured.Unstructured, names *[]string) {
	i.out = append(i.out, m)
	*names = append(*names, m.GetKind()+" "+m.GetName())
}

// withoutPods keeps an object without pods.
func (i *fileInjection) withoutPods(m unstructured.Unstructured) {
	switch group := m.GroupVersionKind().Group; {
	case group == cluster.TrainerGroup && m.GetKind() == "TrainJob":
		i.out = append(i.out, m)
		i.requireRuntime(m)
	case strings.Contains(group, ".") && !strings.HasSuffix(group, ".k8s.io"):
		i.keep(m, &i.unknown)
	default: // Kubernetes' own kinds have pods only where railhead finds them
		i.out = append(i.out, m)
	}
}

// requireRuntime reports a TrainJob whose pods are made from a runtime that is not injected with it. It fails if
// nothing else is injected.
func (i *fileInjection) requireRuntime(m unstructured.Unstructured) {
	name, _ := workload.Field(m.Object, "spec.runtimeRef.name").(string)
	kind, _ := workload.Field(m.Object, "spec.runtimeRef.kind").(string)
	kind = cmp.Or(kind, "ClusterTrainingRuntime") // the default of the API
	if slices.ContainsFunc(i.all, func(o unstructured.Unstructured) bool {
		return o.GetKind() == kind && o.GetName() == name
	}) {
		return
	}
	status := check.Fail
	if slices.ContainsFunc(i.all, func(o unstructured.Unstructured) bool { return len(i.podTemplates(o)) > 0 }) {
		status = check.Warn
	}
	ns := manifests.Namespace(m, i.Namespace)
	i.draft.Report(check.Finding{
		Check: ManifestSuitable, Status: status, Subject: objectRef(m),
		Summary: fmt.Sprintf("TrainJob %s has no pod template: its pods are made from that of %s %s, which is not in "+
			"the manifest", m.GetName(), kind, name),
		Evidence: check.Observed("manifest", "no "+kind+" "+name, kind+" "+name),
		Fix: check.ByUser("Inject the runtime, and apply it before the TrainJob. One of the namespace, kind "+
			"TrainingRuntime, needs no rights in the whole cluster.",
			fmt.Sprintf("kubectl -n %s get %s %s -o yaml | railhead inject -f - -n %s",
				ns, strings.ToLower(kind), name, ns)),
	})
}

// note tells which objects stay as they are although they have, or may have, pods.
func (i *fileInjection) note() {
	const shown = 5
	if len(i.idle) > 0 && i.Container != "" {
		i.draft.Note("Unchanged, without a container %s: %s.", i.Container, words.Few(i.idle, shown))
	} else if len(i.idle) > 0 {
		i.draft.Note("Unchanged, because they request no GPU and other pods do: %s. --container chooses by name.",
			words.Few(i.idle, shown))
	}
	if len(i.unknown) > 0 {
		i.draft.Note("Unchanged, because no pod template was found: %s.", words.Few(i.unknown, shown))
	}
}
