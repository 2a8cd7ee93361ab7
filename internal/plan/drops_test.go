package plan_test

import (
	"encoding/json"
	"testing"

	"github.com/railhead/railhead/internal/plan"
)

// TestDrops: an object that lacks a field of an earlier apply is not the same, whatever others have set since.
func TestDrops(t *testing.T) {
	const applied = `{"f:metadata": {"f:labels": {"f:app": {}}}, "f:spec": {
		"f:replicas": {}, "f:selector": {},
		"f:template": {"f:spec": {"f:containers": {
			"k:{\"name\":\"train\"}": {".": {}, "f:name": {}, "f:command": {}, "f:ports": {
				"k:{\"containerPort\":29500,\"protocol\":\"TCP\"}": {".": {}, "f:containerPort": {}}}}}}},
		"f:finalizers": {"v:\"a.b/c\"": {}}}}`
	const container = `{"name": "train", "command": ["sh"], "ports": [{"containerPort": 29500}]}`
	object := func(labels, selector, containers, finalizers string) string {
		return `{"metadata": {"labels": ` + labels + `}, "spec": {"replicas": 2, "selector": ` + selector +
			`, "template": {"spec": {"containers": ` + containers + `}}, "finalizers": ` + finalizers + `}}`
	}
	for name, c := range map[string]struct {
		want  string
		drops bool
	}{
		"the same":      {object(`{"app": "x"}`, `{"a": "b"}`, `[`+container+`]`, `["a.b/c"]`), false},
		"more":          {object(`{"app": "x", "b": "c"}`, `{}`, `[{"name": "b"}, `+container+`]`, `["d", "a.b/c"]`), false},
		"no label":      {object(`{"b": "c"}`, `{}`, `[`+container+`]`, `["a.b/c"]`), true},
		"no container":  {object(`{"app": "x"}`, `{}`, `[{"name": "other"}]`, `["a.b/c"]`), true},
		"no containers": {object(`{"app": "x"}`, `{}`, `null`, `["a.b/c"]`), true},
		"no command": {
			object(`{"app": "x"}`, `{}`, `[{"name": "train", "ports": [{"containerPort": 29500}]}]`, `["a.b/c"]`), true,
		},
		"another port": {
			object(`{"app": "x"}`, `{}`, `[{"name": "train", "command": [], "ports": [{"containerPort": 1}]}]`, `["a.b/c"]`), true,
		},
		"no finalizer": {object(`{"app": "x"}`, `{}`, `[`+container+`]`, `[]`), true},
		"nothing":      {`{}`, true},
	} {
		var fields, want map[string]any
		for text, into := range map[string]*map[string]any{applied: &fields, c.want: &want} {
			if err := json.Unmarshal([]byte(text), into); err != nil {
				t.Fatal(name, err)
			}
		}
		if got := plan.Drops(fields, want); got != c.drops {
			t.Errorf("%s: %v", name, got)
		}
		if plan.Drops(nil, want) {
			t.Errorf("%s: an object that Railhead never applied loses nothing", name)
		}
	}
}
