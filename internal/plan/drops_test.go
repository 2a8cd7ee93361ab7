package plan_test

import (
	"encoding/json"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/railhead/railhead/internal/cluster"
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

// TestApplyIfChanged: an object is written again if it lacks a field, or has one that an earlier apply set.
func TestApplyIfChanged(t *testing.T) {
	object := func(spec map[string]any) unstructured.Unstructured {
		return unstructured.Unstructured{Object: map[string]any{
			"kind": "IPPool", "metadata": map[string]any{"name": "rail0", "namespace": "n"}, "spec": spec,
		}}
	}
	mtu := map[string]any{"f:spec": map[string]any{"f:mtu": map[string]any{}}}
	for name, c := range map[string]struct {
		live    map[string]any
		applied map[string]any
		want    map[string]any
		changes int
	}{
		"the same":                       {map[string]any{"mtu": int64(1)}, mtu, map[string]any{"mtu": int64(1)}, 0},
		"another value":                  {map[string]any{"mtu": int64(1)}, mtu, map[string]any{"mtu": int64(2)}, 1},
		"no longer asked for":            {map[string]any{"mtu": int64(1)}, mtu, map[string]any{}, 1},
		"never asked for, set by others": {map[string]any{"mtu": int64(1)}, nil, map[string]any{}, 0},
	} {
		s := cluster.State{Objects: []cluster.Object{{
			Kind: "IPPool", Namespace: "n", Name: "rail0", Fields: object(c.live).Object, Applied: c.applied,
		}}}
		if got := plan.ApplyIfChanged(s, object(c.want), "why"); len(got) != c.changes {
			t.Errorf("%s: %d changes, want %d", name, len(got), c.changes)
		}
	}
}
