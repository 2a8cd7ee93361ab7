package workload

import (
	"maps"
	"slices"
	"strings"
)

// each stands in a path for each item of a list or map.
const each = "[]."

// AtPaths returns a kind with its pod templates at the paths of an object, such as "spec.template" or
// "spec.groups[].template", where the latter is one template in each item of a list or map. Items may have lists, too:
// "spec.pools[].groups[].template". "spec.pods[]" has templates as items.
func AtPaths(object map[string]any, paths []string) Kind {
	var k Kind
	for _, path := range paths {
		t := Template{Pod: path}
		if i := strings.LastIndex(path+".", each); i > 0 {
			t = Template{Items: path[:i], Pod: strings.TrimPrefix(path[i:], "[]")}
			t.Pod = strings.TrimPrefix(t.Pod, ".")
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
			name := strings.ReplaceAll(key, ".", `\.`)
			findTemplates(strings.TrimPrefix(path+"."+name, "."), v[key], paths)
		}
	case []any:
		for _, item := range v {
			findTemplates(path+"[]", item, paths)
		}
	}
}
