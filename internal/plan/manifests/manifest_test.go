package manifests

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestRead(t *testing.T) {
	const pod = `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "train"}}`
	for name, c := range map[string]struct {
		text  string
		names []string
		fails string
	}{
		"documents":       {"---\nkind: Pod\nmetadata: {name: a}\n---\n# nothing\n---\nkind: Job\nmetadata: {name: b}\n", []string{"a", "b"}, ""},
		"a list":          {`{"apiVersion": "v1", "kind": "List", "items": [` + pod + "," + pod + "]}", []string{"a", "a"}, ""},
		"nothing":         {"# to do\n", nil, "it contains no object"},
		"no YAML":         {"kind: Pod\n---\na: b: c", nil, "object 2: "},
		"another message": {"kind: [", nil, "object 1: "},
	} {
		t.Run(name, func(t *testing.T) {
			all, err := Read([]byte(c.text))
			if (err != nil) != (c.fails != "") || err != nil && !strings.HasPrefix(err.Error(), c.fails) {
				t.Fatalf("error %v, want %q", err, c.fails)
			}
			var names []string
			for _, o := range all {
				names = append(names, o.GetName())
			}
			if diff := cmp.Diff(c.names, names); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestNamespaces(t *testing.T) {
	all, err := Read([]byte("kind: Pod\nmetadata: {name: a, namespace: train}\n---\nkind: Pod\nmetadata: {name: b}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if err := all.In("train"); err != nil {
		t.Error(err)
	}
	if err := all.In("other"); err == nil || !strings.Contains(err.Error(), "Pod a is in namespace train, but -n is other") {
		t.Errorf("error %v", err)
	}
	if got := Namespace(all[1], ""); got != "default" || !all.Has(all[0]) || all.Has(unstructured.Unstructured{}) {
		t.Errorf("namespace %q", got)
	}
}

// TestEdit: only what differs changes in the text; a form that cannot be edited is said.
func TestEdit(t *testing.T) {
	long := strings.Repeat("x", 120)
	for name, c := range map[string]struct{ before, after, want string }{
		"a field in a block":         {"a: 1 # one\nb: {c: 2}\n", "{a: 1, b: {c: 2}, d: {e: 3}}", "a: 1 # one\nb: {c: 2}\nd:\n  e: 3\n"},
		"a field in a flow":          {"a: {c: 2} # two\n", "{a: {c: 2, d: 3}}", `a: {"d":3, c: 2} # two` + "\n"},
		"a value":                    {"a: 1\n# the end\n", "{a: 5}", "a: 5\n# the end\n"},
		"an item first":              {"l:\n# x\n- x\n", "{l: [w, x]}", "l:\n- w\n# x\n- x\n"},
		"an item last":               {"l:\n- x # first\n", "{l: [x, z]}", "l:\n- x # first\n- z\n"},
		"fewer items":                {"l:\n- x\n- y\n", "{l: [x]}", "l:\n- x\n"},
		"an alias":                   {"a: &b {c: 1}\nd: *b\n", "{a: {c: 1}, d: {c: 2}}", "a: &b {c: 1}\nd:\n  c: 2\n"},
		"an anchor in use":           {"a: &b {c: 1}\nd: *b\n", "{a: {c: 2}, d: {c: 1}}", ""},
		"an anchor and its aliases":  {"a: &b\n  c: 1 # one\nd: *b # two\n", "{a: {c: 1, e: 3}, d: {c: 1, e: 3}}", "a: &b\n  c: 1 # one\n  e: 3\nd: *b # two\n"},
		"a merged map":               {"a: &b {c: 1}\nd:\n  <<: *b\n  f: 1\n", "{a: {c: 1}, d: {c: 1, f: 1, g: 2}}", "a: &b {c: 1}\nd:\n  <<: *b\n  f: 1\n  g: 2\n"},
		"Windows line ends":          {"a: 1\r\nb:\r\n  c: 2\r\n", "{a: 1, b: {c: 2, d: {e: 3}}}", "a: 1\r\nb:\r\n  c: 2\r\n  d:\r\n    e: 3\r\n"},
		"a long line":                {"a: {c: 2}\n", "{a: {c: 2, d: " + long + "}}", "a:\n  c: 2\n  d: " + long + "\n"},
		"a long line with a comment": {"a: {c: 2} # two\n", "{a: {c: 2, d: " + long + "}}", `a: {"d":"` + long + `", c: 2} # two` + "\n"},
		"JSON": {"{\n    \"a\": {\n        \"b\": 1\n    }\n}\n", "{a: {b: 1, c: {d: 2}, e: 3}}",
			"{\n    \"a\": {\n        \"c\": {\n            \"d\": 2\n        },\n        \"e\": 3,\n        \"b\": 1\n    }\n}\n"},
		"JSON in one line": {`{"a": {}}`, "{a: {b: " + long + "}}", `{"a": {"b":"` + long + `"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			before, err := Read([]byte(c.before))
			if err != nil {
				t.Fatal(err)
			}
			after, err := Read([]byte(c.after))
			if err != nil {
				t.Fatal(err)
			}
			got, ok := Edit([]byte(c.before), before, after)
			if ok != (c.want != "") {
				t.Fatalf("edited %t: %q", ok, got)
			}
			if diff := cmp.Diff(c.want, string(got)); ok && diff != "" {
				t.Error(diff)
			}
		})
	}
}
