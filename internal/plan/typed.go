package plan

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Fields converts a typed API value to the fields of an unstructured object, without null fields and without the empty
// structs that Go types always write, because an apply owns all its fields.
func Fields(typed any) map[string]any {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
	if err != nil {
		panic(fmt.Sprintf("convert %T: %v", typed, err)) // a mistake in the code: all API types convert
	}
	dropUnset(fields)
	return fields
}

// Typed converts an object of an API type to an unstructured one, without its status.
func Typed(gvk schema.GroupVersionKind, typed any) unstructured.Unstructured {
	object := unstructured.Unstructured{Object: Fields(typed)}
	delete(object.Object, "status")
	object.SetGroupVersionKind(gvk)
	return object
}

func dropUnset(value any) {
	switch v := value.(type) {
	case map[string]any:
		for key, inner := range v {
			dropUnset(inner)
			if inner == nil {
				delete(v, key)
			}
		}
		for _, key := range []string{"metadata", "resources", "spec", "strategy", "updateStrategy"} {
			if inner, ok := v[key].(map[string]any); ok && len(inner) == 0 {
				delete(v, key)
			}
		}
	case []any:
		for _, item := range v {
			dropUnset(item)
		}
	}
}
