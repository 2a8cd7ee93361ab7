// Package podspec reads and edits pod templates as maps, so that fields of APIs that are newer than the program stay.
package podspec

import (
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/railhead/railhead/internal/workload"
)

// Amounts returns the requests or the limits of a container.
func Amounts(container map[string]any, kind string) map[string]any {
	resources, _ := container["resources"].(map[string]any)
	list, _ := resources[kind].(map[string]any)
	return list
}

// Set requests an amount of a resource, as request and as limit.
func Set(container map[string]any, name, amount string) {
	for _, kind := range []string{"requests", "limits"} {
		Child(Child(container, "resources"), kind)[name] = amount
	}
}

// Child returns a map in a map, which it creates if it is missing.
func Child(parent map[string]any, key string) map[string]any {
	c, ok := parent[key].(map[string]any)
	if !ok {
		c = map[string]any{}
		parent[key] = c
	}
	return c
}

// SetMissing adds to have the fields of want that it lacks, also inside maps that both have.
func SetMissing(have, want map[string]any) {
	for key, w := range want {
		h, exists := have[key]
		if !exists {
			have[key] = runtime.DeepCopyJSONValue(w)
			continue
		}
		inner, _ := w.(map[string]any)
		if own, ok := h.(map[string]any); ok {
			SetMissing(own, inner)
		}
	}
}

// With returns a list with an item added, or replaced if it has the same key.
func With(list any, key string, item map[string]any) []any {
	all, _ := list.([]any)
	all = slices.Clone(all)
	for i, existing := range all {
		if m, ok := existing.(map[string]any); ok && m[key] == item[key] {
			all[i] = item
			return all
		}
	}
	return append(all, item)
}

// WithEqual returns a list with an item added, unless it has an equal one.
func WithEqual(list any, item map[string]any) []any {
	all, _ := list.([]any)
	if slices.ContainsFunc(all, func(existing any) bool { return reflect.DeepEqual(existing, any(item)) }) {
		return all
	}
	return append(slices.Clone(all), item)
}

// Remove removes the item of a name from a list of a map, and a list that is empty then.
func Remove(parent map[string]any, key, name string) {
	if Named(Items(parent[key]), name) == nil {
		return
	}
	all, _ := parent[key].([]any)
	all = slices.DeleteFunc(slices.Clone(all), func(item any) bool {
		m, _ := item.(map[string]any)
		return m["name"] == name
	})
	if parent[key] = all; len(all) == 0 {
		delete(parent, key)
	}
}

// Items returns the maps of a list.
func Items(list any) []map[string]any {
	var maps []map[string]any
	all, _ := list.([]any)
	for _, item := range all {
		if m, ok := item.(map[string]any); ok {
			maps = append(maps, m)
		}
	}
	return maps
}

// Named returns the item of a name, or nil.
func Named(items []map[string]any, name any) map[string]any { return Item(items, "name", name) }

// Item returns the item with a value of a key, or nil.
func Item(items []map[string]any, key string, value any) map[string]any {
	i := slices.IndexFunc(items, func(item map[string]any) bool { return item[key] == value })
	if i < 0 {
		return nil
	}
	return items[i]
}

// Referenced returns the names that an object has at a path anywhere, as {configMap: {name: ...}}.
func Referenced(value any, path string) []string {
	var names []string
	switch v := value.(type) {
	case map[string]any:
		if name, ok := workload.Field(v, path).(string); ok {
			names = append(names, name)
		}
		for _, inner := range v {
			names = append(names, Referenced(inner, path)...)
		}
	case []any:
		for _, item := range v {
			names = append(names, Referenced(item, path)...)
		}
	}
	return names
}
