package workload

import (
	"maps"
	"slices"
	"strings"
)

// AtPaths returns a kind with its pod templates at the paths of an object, such as "spec.template" or
// "spec.groups[].template", where the latter is one template in each item of a list or map.
func AtPaths(object map[string]any, paths []string) Kind {
	var k Kind
	for _, path := range paths {
		t := Template{Pod: path}
		if items, pod, ok := strings.Cut(path, "[]."); ok {
			t = Template{Items: items, Pod: pod}
		}
		if len((Kind{Templates: []Template{t}}).PodTemplates(object)) > 0 {
			k.Templates = append(k.Templates, t)
		}
	}
	return k
}

// TemplatePaths returns the paths at which an object of any kind seems to have pod templates: those with a spec that
// has containers.
func TemplatePaths(object map[string]any) []string {
	var paths []string
	findTemplates("", object, &paths)
	return slices.Compact(paths)
}

func findTemplates(path string, value any, paths *[]string) {
	switch v := value.(type) {
	case map[string]any:
		if containers, _ := Field(v, "spec.containers").([]any); len(containers) > 0 && path != "" {
			*paths = append(*paths, path)
			return
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			findTemplates(strings.TrimPrefix(path+"."+key, "."), v[key], paths)
		}
	case []any:
		for _, item := range v {
			findTemplates(path+"[]", item, paths)
		}
	}
}
