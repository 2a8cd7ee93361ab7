package plan

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
)

// ReadManifests reads the objects of YAML documents or of JSON; a List gives its items.
func ReadManifests(text []byte) ([]unstructured.Unstructured, error) {
	var all []unstructured.Unstructured
	for decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096); ; {
		var object unstructured.Unstructured
		err := decoder.Decode(&object.Object)
		switch {
		case errors.Is(err, io.EOF) && len(all) == 0:
			return nil, errors.New("no object is in it")
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

// InjectAll injects into every manifest that has pods and puts the ConfigMaps that those mount before them. Other objects
// are kept as they are; where no manifest has pods, the findings of each say so.
func InjectAll(manifests []unstructured.Unstructured, s cluster.State, o JobOptions) ([]unstructured.Unstructured, []check.Finding) {
	var out, parts []unstructured.Unstructured
	var findings []check.Finding
	var hasPods bool
	for _, m := range manifests {
		if _, known := templates[m.GetKind()]; !known && len(manifests) > 1 {
			out = append(out, m)
			continue
		}
		hasPods = true
		injected, said := Inject(m, s, o)
		findings = append(findings, said...)
		out = append(out, injected)
		for _, part := range InjectDelivery(m, s, o) {
			if !holds(parts, part) && !holds(manifests, part) {
				parts = append(parts, part)
			}
		}
	}
	if !hasPods && len(manifests) > 0 {
		_, findings = Inject(manifests[0], s, o)
	}
	return append(parts, out...), findings
}

// holds reports whether an object is among others, as it is when what was injected is injected again.
func holds(objects []unstructured.Unstructured, part unstructured.Unstructured) bool {
	return slices.ContainsFunc(objects, func(o unstructured.Unstructured) bool {
		return o.GetKind() == part.GetKind() && o.GetName() == part.GetName() && o.GetNamespace() == part.GetNamespace()
	})
}
