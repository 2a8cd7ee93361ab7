package admission

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// operation is one operation of a JSON patch (RFC 6902).
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// pointer escapes a field name for a path (RFC 6901).
var pointer = strings.NewReplacer("~", "~0", "/", "~1")

// difference returns the operations that turn one JSON value into another. A list whose length changes is replaced.
func difference(path string, from, to any) []operation {
	var all []operation
	switch from := from.(type) {
	case map[string]any:
		if to, ok := to.(map[string]any); ok {
			return objectDifference(path, from, to)
		}
	case []any:
		to, ok := to.([]any)
		if !ok || len(from) != len(to) {
			break
		}
		for i := range from {
			all = append(all, difference(path+"/"+strconv.Itoa(i), from[i], to[i])...)
		}
		return all
	}
	if reflect.DeepEqual(from, to) {
		return nil
	}
	return []operation{{"replace", path, to}}
}

func objectDifference(path string, from, to map[string]any) []operation {
	var all []operation
	for _, name := range slices.Sorted(maps.Keys(from)) {
		if _, kept := to[name]; !kept {
			all = append(all, operation{Op: "remove", Path: path + "/" + pointer.Replace(name)})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(to)) {
		place := path + "/" + pointer.Replace(name)
		if had, ok := from[name]; ok {
			all = append(all, difference(place, had, to[name])...)
		} else {
			all = append(all, operation{"add", place, to[name]})
		}
	}
	return all
}
