package workload

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Field returns the value at a path of an object, or nil.
func Field(object map[string]any, path string) any {
	var value any = object
	for key := range strings.SplitSeq(path, ".") {
		fields, _ := value.(map[string]any)
		value = fields[key]
	}
	return value
}

// PodTemplates returns the pod templates of an object, not copied: {metadata, spec}.
func (k Kind) PodTemplates(object map[string]any) []map[string]any {
	var all []map[string]any
	for _, t := range k.Templates {
		for _, item := range t.items(object) {
			template := item
			if t.Pod != "" {
				template, _ = Field(item, t.Pod).(map[string]any)
			}
			if template != nil {
				all = append(all, template)
			}
		}
	}
	return all
}

// Size returns the number of pods that an object runs.
func (k Kind) Size(object map[string]any) int {
	size := 0
	for _, t := range k.Templates {
		if t.Among {
			continue
		}
		for _, item := range t.items(object) {
			pods := 1
			for _, path := range t.Count {
				if n, ok := whole(Field(item, path)); ok { // an absent count is 1 (apps/v1, batch/v1, jobset v1alpha2)
					pods *= n
				}
			}
			size += pods
		}
	}
	return size
}

// items returns the parts of an object that hold one template each.
func (t Template) items(object map[string]any) []map[string]any {
	if t.Items == "" {
		return []map[string]any{object}
	}
	var values []any
	switch list := Field(object, t.Items).(type) {
	case []any:
		values = list
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(list)) {
			values = append(values, list[key])
		}
	}
	var items []map[string]any
	for _, value := range values {
		if item, ok := value.(map[string]any); ok {
			items = append(items, item)
		}
	}
	return items
}

// whole parses a number of any decoder's type.
func whole(value any) (int, bool) {
	n, err := strconv.Atoi(fmt.Sprint(value))
	return n, err == nil
}
