package workload

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Template is the place of a pod template in an object.
type Template struct {
	Items string   // path of the list or map whose items hold templates, or of lists in items; empty: the object itself
	Pod   string   // path of the template in an item; empty: the item is the pod
	Count []string // paths in an item; their product is the number of pods, and an absent one is 1
	Among bool     // its pods are among those that another template counts
	Role  Role
	Roles map[string]Role // of items that have another role, by their names in lower case
}

// Role is the part of a template's pods in the training.
type Role int

// The roles.
const (
	Worker   Role = iota // trains
	Leader               // leads the workers and may train too: of Ray and of LeaderWorkerSets
	Launcher             // only starts programs in the workers: of MPI
	Helper               // prepares data, or submits the job
)

// Part is one pod template of an object.
type Part struct {
	Role     Role
	Template map[string]any // {metadata, spec}, not copied
}

// Field returns the value at a path of an object, or nil. A dot in a name has a backslash before it.
func Field(object map[string]any, path string) any {
	var value any = object
	for path != "" {
		var key string
		key, path = firstKey(path)
		fields, _ := value.(map[string]any)
		value = fields[key]
	}
	return value
}

// firstKey returns the first name of a path, and the path after it.
func firstKey(path string) (key, rest string) {
	key, rest, _ = strings.Cut(path, ".")
	for strings.HasSuffix(key, `\`) {
		var more string
		more, rest, _ = strings.Cut(rest, ".")
		key = strings.TrimSuffix(key, `\`) + "." + more
	}
	return key, rest
}

// PodTemplates returns the pod templates of an object, not copied: {metadata, spec}.
func (k Kind) PodTemplates(object map[string]any) []map[string]any {
	var all []map[string]any
	for _, p := range k.Parts(object) {
		all = append(all, p.Template)
	}
	return all
}

// Parts returns the pod templates of an object with their roles.
func (k Kind) Parts(object map[string]any) []Part {
	var all []Part
	for _, t := range k.Templates {
		for _, item := range t.items(object) {
			template := item.fields
			if t.Pod != "" {
				template, _ = Field(item.fields, t.Pod).(map[string]any)
			}
			if template != nil {
				all = append(all, Part{Role: max(t.Role, t.Roles[item.name]), Template: template})
			}
		}
	}
	return all
}

// Size returns the number of pods that an object runs.
func (k Kind) Size(object map[string]any) int {
	size := 0
	if k.Nodes != "" {
		size = product(object, []string{k.Nodes})
	}
	for _, t := range k.Templates {
		if t.Among {
			continue
		}
		for _, item := range t.items(object) {
			size += product(item.fields, t.Count)
		}
	}
	return size
}

// product multiplies counts; an absent one is 1 (apps/v1, batch/v1, jobset v1alpha2, trainer v1alpha1).
func product(item map[string]any, counts []string) int {
	pods := 1
	for _, path := range counts {
		if n, ok := whole(Field(item, path)); ok {
			pods *= n
		}
	}
	return pods
}

// item is a part of an object that holds one template.
type item struct {
	name   string // in lower case
	fields map[string]any
}

func (t Template) items(object map[string]any) []item {
	if t.Items == "" {
		return []item{{"", object}}
	}
	if outer, inner, nested := strings.Cut(t.Items, each); nested {
		var items []item
		for _, i := range (Template{Items: outer}).items(object) {
			items = append(items, Template{Items: inner}.items(i.fields)...)
		}
		return items
	}
	var items []item
	add := func(name string, value any) {
		if fields, ok := value.(map[string]any); ok {
			items = append(items, item{strings.ToLower(name), fields})
		}
	}
	switch list := Field(object, t.Items).(type) {
	case []any:
		for _, value := range list {
			fields, _ := value.(map[string]any)
			name, _ := fields["name"].(string)
			add(name, value)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(list)) {
			add(key, list[key])
		}
	}
	return items
}

// whole parses a number of any decoder's type.
func whole(value any) (int, bool) {
	n, err := strconv.Atoi(fmt.Sprint(value))
	return n, err == nil
}
