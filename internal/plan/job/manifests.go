package job

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/workload"
)

// Manifests are objects as their author wrote them.
type Manifests []unstructured.Unstructured

// ReadManifests reads the objects of YAML documents or of JSON, and the items of a List.
func ReadManifests(text []byte) (Manifests, error) {
	var all Manifests
	for decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096); ; {
		var object unstructured.Unstructured
		err := decoder.Decode(&object.Object)
		switch {
		case errors.Is(err, io.EOF) && len(all) == 0:
			return nil, errors.New("it contains no object")
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, fmt.Errorf("object %d: %w", len(all)+1, err)
		case object.IsList():
			list, err := object.ToList()
			if err != nil {
				return nil, fmt.Errorf("object %d: %w", len(all)+1, err)
			}
			all = append(all, list.Items...)
		case len(object.Object) > 0:
			all = append(all, object)
		}
	}
}

// In returns an error if a manifest names a namespace other than the given one, as kubectl does.
func (all Manifests) In(namespace string) error {
	for _, m := range all {
		if own := m.GetNamespace(); own != "" && own != namespace {
			return fmt.Errorf("%s %s is in namespace %s, but -n is %s: omit -n, or use -n %s",
				m.GetKind(), m.GetName(), own, namespace, own)
		}
	}
	return nil
}

// Namespaces returns the namespaces of the manifests with pods, each once.
func (all Manifests) Namespaces(o Options) []string {
	var names []string
	for _, m := range all {
		own := NamespaceOf(m, o.Namespace)
		if _, known := o.KindOf(m); known && !slices.Contains(names, own) {
			names = append(names, own)
		}
	}
	return names
}

// NamespaceOf returns the namespace of a manifest, or else the given one.
func NamespaceOf(manifest unstructured.Unstructured, namespace string) string {
	return cmp.Or(manifest.GetNamespace(), namespace, "default")
}

// KindOf returns the kind of a manifest with pods. One that railhead does not know has its templates at TemplatePaths.
func (o Options) KindOf(manifest unstructured.Unstructured) (workload.Kind, bool) {
	if k, known := workload.Of(workload.KindName(manifest.GetAPIVersion(), manifest.GetKind())); known {
		return k, true
	}
	k := workload.AtPaths(manifest.Object, o.TemplatePaths)
	return k, len(k.Templates) > 0
}

// InjectAll injects into every manifest with pods, and puts the ConfigMaps that they mount first. states has the State
// of each namespace, and a manifest without one gets that of its rails. Objects without pods stay unchanged. It fails
// for one with pods of a kind that railhead does not know, and if no manifest has pods.
func InjectAll(manifests Manifests, states map[string]cluster.State, o Options) (Manifests, plan.Draft) {
	var out, parts Manifests
	var draft plan.Draft
	var hasPods bool
	for _, m := range manifests {
		k, known := o.KindOf(m)
		if !known && len(workload.TemplatePaths(m.Object)) == 0 {
			out = append(out, m)
			continue
		}
		hasPods = true
		s := states[NamespaceOf(m, o.Namespace)]
		injected, j := inject(m, s, o)
		if known && !k.Cluster { // kubectl would otherwise put it in the namespace of its context
			injected.SetNamespace(NamespaceOf(m, o.Namespace))
		}
		draft.Report(j.Findings...)
		for _, note := range j.Notes {
			if !slices.Contains(draft.Notes, note) { // manifests of a namespace have most notes in common
				draft.Notes = append(draft.Notes, note)
			}
		}
		out = append(out, injected)
		for _, part := range j.injectionParts() {
			if !holds(parts, part) && !holds(manifests, part) {
				parts = append(parts, part)
			}
		}
	}
	if !hasPods && len(manifests) > 0 {
		_, draft.Findings = Inject(manifests[0], cluster.State{}, o)
	}
	return append(parts, out...), draft
}

// holds reports whether a list has an object of the same name, as the output of an earlier injection does.
func holds(objects []unstructured.Unstructured, part unstructured.Unstructured) bool {
	return slices.ContainsFunc(objects, func(o unstructured.Unstructured) bool {
		return o.GetKind() == part.GetKind() && o.GetName() == part.GetName() && o.GetNamespace() == part.GetNamespace()
	})
}
