// Package manifests reads the manifests of users, and changes their text without touching the rest of it.
package manifests

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// List has objects as their author wrote them.
type List []unstructured.Unstructured

// Read reads the objects of YAML documents or of JSON, and the items of a List.
func Read(text []byte) (List, error) {
	var all List
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
			all = append(all, typed(list.Items, object)...)
		case len(object.Object) > 0:
			all = append(all, object)
		}
	}
}

// typed returns the items of a list. Those of a PodList may have no kind: they are Pods of its version.
func typed(items List, list unstructured.Unstructured) List {
	kind := strings.TrimSuffix(list.GetKind(), "List")
	for _, item := range items {
		if kind != "" && kind != list.GetKind() && item.GetKind() == "" {
			item.SetKind(kind)
			item.SetAPIVersion(cmp.Or(item.GetAPIVersion(), list.GetAPIVersion()))
		}
	}
	return items
}

// In returns an error if a manifest names a namespace other than the given one, as kubectl does.
func (all List) In(namespace string) error {
	for _, m := range all {
		if own := m.GetNamespace(); own != "" && own != namespace {
			return fmt.Errorf("%s %s is in namespace %s, but -n is %s: omit -n, or use -n %s",
				m.GetKind(), m.GetName(), own, namespace, own)
		}
	}
	return nil
}

// Namespace returns the namespace of an object, or else the given one.
func Namespace(of unstructured.Unstructured, namespace string) string {
	return cmp.Or(of.GetNamespace(), namespace, "default")
}

// Has reports whether there is an object of the same kind and name, as in the output of an earlier injection.
func (all List) Has(part unstructured.Unstructured) bool {
	return slices.ContainsFunc(all, func(o unstructured.Unstructured) bool {
		return o.GetKind() == part.GetKind() && o.GetName() == part.GetName() && o.GetNamespace() == part.GetNamespace()
	})
}

// Names returns the kinds and names of the objects.
func (all List) Names() []string {
	var names []string
	for _, o := range all {
		names = append(names, o.GetKind()+" "+o.GetName())
	}
	return names
}
