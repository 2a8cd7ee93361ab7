package workload

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

func TestTemplatePaths(t *testing.T) {
	const template = "{spec: {containers: [{name: a, image: b}]}}"
	for text, want := range map[string][]string{
		"kind: Service\nspec: {ports: [{port: 1}]}":                                       nil,
		"kind: Train\nspec: {template: " + template + "}":                                 {"spec.template"},
		"kind: Train\nspec: {groups: [{pod: " + template + "}, {pod: " + template + "}]}": {"spec.groups[].pod"},
		"kind: Train\nspec: {head: {template: " + template + "}, replicas: {Worker: {template: " + template + "}}}": {
			"spec.head.template", "spec.replicas.Worker.template",
		},
		"kind: Train\nspec: {pools: [{groups: [{template: " + template + "}]}, {groups: [{template: " + template + "}]}]}": {
			"spec.pools[].groups[].template",
		},
		"kind: Train\nspec: {roles: {a.b: {template: " + template + "}, c.d.e: {pods: [" + template + "]}}}": {
			`spec.roles.a\.b.template`, `spec.roles.c\.d\.e.pods[]`,
		},
		"kind: Empty\nspec: {template: {spec: {containers: []}}}": nil,
	} {
		var object map[string]any
		if err := yaml.Unmarshal([]byte(text), &object); err != nil {
			t.Fatal(err)
		}
		got := TemplatePaths(object)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
		k := AtPaths(object, append(got, "spec.nowhere", "spec.nowhere[].else", "spec.pools[].nowhere[].else"))
		if len(k.Templates) != len(want) {
			t.Errorf("%s: templates %v", text, k.Templates)
		}
		if n := strings.Count(text, "containers: [{"); len(k.PodTemplates(object)) != n {
			t.Errorf("%s: %d pod templates, want %d", text, len(k.PodTemplates(object)), n)
		}
	}
}
