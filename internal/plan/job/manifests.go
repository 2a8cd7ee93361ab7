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

// ReadManifests reads the objects of YAML documents or of JSON; a List gives its items.
func ReadManifests(text []byte) (Manifests, error) {
	var all Manifests
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

// In returns an error when one of them names another namespace than the one that is asked for, as kubectl does.
func (all Manifests) In(namespace string) error {
	for _, m := range all {
		if named := m.GetNamespace(); named != "" && named != namespace {
			return fmt.Errorf(
				"%s %s is in namespace %s, and -n says %s: leave -n out, or say -n %s", m.GetKind(), m.GetName(),
				named, namespace, named,
			)
		}
	}
	return nil
}

// Namespaces returns the namespaces of the manifests that have pods, each once. A manifest without one is in the
// given one.
func (all Manifests) Namespaces(namespace string) []string {
	var names []string
	for _, m := range all {
		ns := namespaceOf(m, namespace)
		if _, known := workload.Of(m.GetKind()); known && !slices.Contains(names, ns) {
			names = append(names, ns)
		}
	}
	return names
}

func namespaceOf(manifest unstructured.Unstructured, namespace string) string {
	return cmp.Or(manifest.GetNamespace(), cmp.Or(namespace, "default"))
}

// InjectAll injects into every manifest that has pods and puts the ConfigMaps that those mount before them. The rails
// and rights are those of each one's own namespace, by whose names the States are. Other objects are kept as they are;
// where no manifest has pods, the findings of each say so.
func InjectAll(manifests Manifests, states map[string]cluster.State, o Options) (Manifests, []check.Finding) {
	var out, parts Manifests
	var findings []check.Finding
	var hasPods bool
	for _, m := range manifests {
		if _, known := workload.Of(m.GetKind()); !known && len(manifests) > 1 {
			out = append(out, m)
			continue
		}
		hasPods = true
		s := states[namespaceOf(m, o.Namespace)]
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
		_, findings = Inject(manifests[0], cluster.State{}, o)
	}
	return append(parts, out...), findings
}

// holds reports whether an object is among others, as in a second injection.
func holds(objects []unstructured.Unstructured, part unstructured.Unstructured) bool {
	return slices.ContainsFunc(objects, func(o unstructured.Unstructured) bool {
		return o.GetKind() == part.GetKind() && o.GetName() == part.GetName() && o.GetNamespace() == part.GetNamespace()
	})
}
