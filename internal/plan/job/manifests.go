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

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
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

// Namespaces returns the namespaces of the manifests with pods, each once; namespace is the default.
func (all Manifests) Namespaces(namespace string) []string {
	var names []string
	for _, m := range all {
		own := namespaceOf(m, namespace)
		if _, known := workload.Of(m.GetKind()); known && !slices.Contains(names, own) {
			names = append(names, own)
		}
	}
	return names
}

func namespaceOf(manifest unstructured.Unstructured, namespace string) string {
	return cmp.Or(manifest.GetNamespace(), namespace, "default")
}

// InjectAll injects into every manifest with pods, and puts the ConfigMaps that they mount first. states has the State
// of each namespace. Other objects stay unchanged; if no manifest has pods, the findings are those of the first.
func InjectAll(manifests Manifests, states map[string]cluster.State, o Options) (Manifests, []check.Finding) {
	var out, parts Manifests
	var findings []check.Finding
	var hasPods bool
	for _, m := range manifests {
		if _, known := workload.Of(m.GetKind()); !known {
			out = append(out, m)
			continue
		}
		hasPods = true
		s := states[namespaceOf(m, o.Namespace)]
		injected, found := Inject(m, s, o)
		findings = append(findings, found...)
		out = append(out, injected)
		for _, part := range InjectDelivery(m, s, o) {
			if !holds(parts, part) && !holds(manifests, part) {
				parts = append(parts, part)
			}
		}
	}
	if !hasPods && len(manifests) > 0 {
		_, findings = Inject(manifests[0], cluster.State{}, o)
	}
	return append(parts, out...), findings
}

// holds reports whether a list has an object of the same name, as the output of an earlier injection does.
func holds(objects []unstructured.Unstructured, part unstructured.Unstructured) bool {
	return slices.ContainsFunc(objects, func(o unstructured.Unstructured) bool {
		return o.GetKind() == part.GetKind() && o.GetName() == part.GetName() && o.GetNamespace() == part.GetNamespace()
	})
}
