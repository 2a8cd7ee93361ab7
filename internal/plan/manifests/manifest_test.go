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

// TestReadTypedList: the kind of a list gives that of items without one, as an API server sends them.
func TestReadTypedList(t *testing.T) {
	const text = "apiVersion: batch/v1\nkind: JobList\nitems:\n- metadata: {name: a} # one\n- {kind: Other, metadata: {name: b}}\n"
	all, err := Read([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"Job a", "Other b"}, all.Names()); diff != "" || all[0].GetAPIVersion() != "batch/v1" {
		t.Errorf("%s, version %q", diff, all[0].GetAPIVersion())
	}
	same, rewritten := Edit([]byte(text), all, all)
	if diff := cmp.Diff(text, string(same)); diff != "" || len(rewritten) > 0 {
		t.Errorf("unchanged: %s %v", diff, rewritten)
	}
	changed := List{*all[0].DeepCopy(), all[1]}
	changed[0].SetLabels(map[string]string{"c": "d"})
	edited, rewritten := Edit([]byte(text), all, changed)
	want := strings.Replace(text, "{name: a}", `{"labels":{"c":"d"}, name: a}`, 1)
	if diff := cmp.Diff(want, string(edited)); diff != "" || len(rewritten) > 0 {
		t.Errorf("edited: %s %v", diff, rewritten)
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

// TestEdit: only what differs changes in the text.
func TestEdit(t *testing.T) {
	long := strings.Repeat("x", 120)
	for name, c := range map[string]struct{ before, after, want string }{
		"a field in a block": {"a: 1 # one\nb: {c: 2}\n", "{a: 1, b: {c: 2}, d: {e: 3}}", "a: 1 # one\nb: {c: 2}\nd:\n  e: 3\n"},
		"a field in a flow":  {"a: {c: 2} # two\n", "{a: {c: 2, d: 3}}", `a: {"d":3, c: 2} # two` + "\n"},
		"a value":            {"a: 1\n# the end\n", "{a: 5}", "a: 5\n# the end\n"},
		"an item first":      {"l:\n# x\n- x\n", "{l: [w, x]}", "l:\n- w\n# x\n- x\n"},
		"an item last":       {"l:\n- x # first\n", "{l: [x, z]}", "l:\n- x # first\n- z\n"},
		"fewer items":        {"l:\n- x\n- y\n", "{l: [x]}", "l:\n- x\n"},
		"an alias":           {"a: &b {c: 1}\nd: *b\n", "{a: {c: 1}, d: {c: 2}}", "a: &b {c: 1}\nd:\n  c: 2\n"},
		"an anchor in use":   {"a: &b {c: 1}\nd: *b\n", "{a: {c: 2}, d: {c: 1}}", "a:\n  c: 2\nd:\n  c: 1\n"},
		"an anchor for one of two": {
			"l:\n- env: &env # both\n  - x # one\n- env: *env\n", "{l: [{env: [x, z]}, {env: [x]}]}",
			"l:\n- env: &env # both\n  - x # one\n  - z\n- env:\n  - x\n",
		},
		"an anchor of dashes as deep as the key": {
			"env: &env # both\n# one\n- x\nf: 1\n", "{env: [w, x], f: 1}", "env: &env # both\n- w\n# one\n- x\nf: 1\n",
		},
		"an anchor that goes": {
			"a: &env\n- x # one\n- z\nf: *env\ng: 1\n", "{a: [x], f: [x, z], g: 1}", "a:\n- x\nf:\n- x\n- z\ng: 1\n",
		},
		"an anchor in a list": {
			"l:\n- &a {b: 1}\n# two\n- *a\n- {c: 1} # three\n", "{l: [{b: 1, d: 2}, {b: 1}, {c: 1}]}",
			"l:\n- &a {\"d\":2, b: 1}\n# two\n- b: 1\n- {c: 1} # three\n",
		},
		"an anchor that others merge": {
			"a: &b\n  c: 1\nd:\n  <<: *b\n  f: 1\n", "{a: {c: 1, g: 2}, d: {c: 1, f: 1}}",
			"a: &b\n  c: 1\n  g: 2\nd:\n  c: 1\n  f: 1\n",
		},
		"an item in one line": {"l:\n- {c: 2}\n- {e: 1}\n", "{l: [{c: 2, d: " + long + "}, {e: 1}]}",
			"l:\n- c: 2\n  d: " + long + "\n- {e: 1}\n"},
		"a value that is not in its line": {"a:\n  1\nb: 2\n", "{a: 3, b: 2}", "a: 3\nb: 2\n"},
		"an anchor and its aliases":       {"a: &b\n  c: 1 # one\nd: *b # two\n", "{a: {c: 1, e: 3}, d: {c: 1, e: 3}}", "a: &b\n  c: 1 # one\n  e: 3\nd: *b # two\n"},
		"a merged map":                    {"a: &b {c: 1}\nd:\n  <<: *b\n  f: 1\n", "{a: {c: 1}, d: {c: 1, f: 1, g: 2}}", "a: &b {c: 1}\nd:\n  <<: *b\n  f: 1\n  g: 2\n"},
		"Windows line ends":               {"a: 1\r\nb:\r\n  c: 2\r\n", "{a: 1, b: {c: 2, d: {e: 3}}}", "a: 1\r\nb:\r\n  c: 2\r\n  d:\r\n    e: 3\r\n"},
		"a long line":                     {"a: {c: 2}\n", "{a: {c: 2, d: " + long + "}}", "a:\n  c: 2\n  d: " + long + "\n"},
		"a long line with a comment":      {"a: {c: 2} # two\n", "{a: {c: 2, d: " + long + "}}", `a: {"d":"` + long + `", c: 2} # two` + "\n"},
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
			got, rewritten := Edit([]byte(c.before), before, after)
			if len(rewritten) > 0 {
				t.Errorf("written anew: %v", rewritten)
			}
			if diff := cmp.Diff(c.want, string(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestEditDocuments: only the document with a form that cannot be edited is written anew.
func TestEditDocuments(t *testing.T) {
	const (
		first  = "# the data\nz: 1 # one\na: 2\n"
		second = "--- # the job\n# a line\n{kind: Job, metadata: {name: j}, l: [x]} # one line\n# its end\n"
		third  = "---\n# nothing\n---\nb: &x 1 # last\na: *x\n"
		anew   = "--- # the job\n# a line\nkind: Job\nl: []\nmetadata:\n  name: j\n"
	)
	for name, c := range map[string]struct{ text, after, want, rewritten string }{
		"one of three": {first + second + third, "{z: 1, a: 2}\n---\n{kind: Job, metadata: {name: j}, l: []}\n---\n{a: 1, b: 1}\n",
			first + anew + third, "Job j"},
		"none": {first + second + third, "{z: 1, a: 2}\n---\n{kind: Job, metadata: {name: j}, l: [x]}\n---\n{a: 1, b: 1}\n",
			first + second + third, ""},
		"a list": {"kind: List\napiVersion: v1\nitems:\n- {kind: Job, metadata: {name: j}, l: [x]}\n---\n" + first,
			"{kind: Job, metadata: {name: j}, l: []}\n---\n{z: 1, a: 2}\n",
			"---\nkind: Job\nl: []\nmetadata:\n  name: j\n---\n" + first, "Job j"},
		"JSON values without a separator": {`{"kind": "Job", "metadata": {"name": "j"}}{"kind": "Pod", "metadata": {"name": "p"}}`,
			"{kind: Job, metadata: {name: j}, l: []}\n---\n{kind: Pod, metadata: {name: p}}\n",
			"---\nkind: Job\nl: []\nmetadata:\n  name: j\n---\nkind: Pod\nmetadata:\n  name: p\n", "Job j, Pod p"},
	} {
		t.Run(name, func(t *testing.T) {
			before, err := Read([]byte(c.text))
			if err != nil {
				t.Fatal(err)
			}
			after, err := Read([]byte(c.after))
			if err != nil {
				t.Fatal(err)
			}
			got, rewritten := Edit([]byte(c.text), before, after)
			if diff := cmp.Diff(c.want, string(got)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(c.rewritten, strings.Join(rewritten.Names(), ", ")); diff != "" {
				t.Error(diff)
			}
		})
	}
}
