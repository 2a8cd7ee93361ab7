package job

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
)

// amounts returns the requests or the limits of a container.
func amounts(container map[string]any, kind string) map[string]any {
	resources, _ := container["resources"].(map[string]any)
	list, _ := resources[kind].(map[string]any)
	return list
}

func set(container map[string]any, name, amount string) {
	for _, kind := range []string{"requests", "limits"} {
		child(child(container, "resources"), kind)[name] = amount
	}
}

// child returns a map in a map, which it creates if it is missing.
func child(parent map[string]any, key string) map[string]any {
	c, ok := parent[key].(map[string]any)
	if !ok {
		c = map[string]any{}
		parent[key] = c
	}
	return c
}

// setMissing sets the fields that are missing, also in the maps that both have.
func setMissing(have, want map[string]any) {
	for key, w := range want {
		h, exists := have[key]
		if !exists {
			have[key] = runtime.DeepCopyJSONValue(w)
			continue
		}
		inner, _ := w.(map[string]any)
		if own, ok := h.(map[string]any); ok {
			setMissing(own, inner)
		}
	}
}

// with returns a list with an item added, or replaced if it has the same key.
func with(list any, key string, item map[string]any) []any {
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

// items returns the maps of a list.
func items(list any) []map[string]any {
	var maps []map[string]any
	all, _ := list.([]any)
	for _, item := range all {
		if m, ok := item.(map[string]any); ok {
			maps = append(maps, m)
		}
	}
	return maps
}

// named returns the item of a name, or nil.
func named(items []map[string]any, name any) map[string]any { return item(items, "name", name) }

// item returns the item with a value of a key, or nil.
func item(items []map[string]any, key string, value any) map[string]any {
	i := slices.IndexFunc(items, func(item map[string]any) bool { return item[key] == value })
	if i < 0 {
		return nil
	}
	return items[i]
}

// text returns a value of a manifest as text.
func text(value any) string { return fmt.Sprint(value) }
