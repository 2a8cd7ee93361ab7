package report

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// encoded returns the value in both formats.
func encoded(t *testing.T, value any) (asJSON, asYAML string) {
	t.Helper()
	var j, y bytes.Buffer
	if err := Encode(&j, "json", value); err != nil {
		t.Fatal(err)
	}
	if err := Encode(&y, "yaml", value); err != nil {
		t.Fatal(err)
	}
	return j.String(), y.String()
}

// readBack fails if YAML and JSON differ, or if they contain control characters.
func readBack(t *testing.T, value any) {
	t.Helper()
	asJSON, asYAML := encoded(t, value)
	if strings.ContainsFunc(asJSON+asYAML, func(c rune) bool { return c != '\n' && unicode.IsControl(c) }) {
		t.Errorf("control characters in %q or %q", asJSON, asYAML)
	}
	var want, got any
	if err := json.Unmarshal([]byte(asJSON), &want); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal([]byte(asYAML), &got); err != nil {
		t.Fatalf("%q: %v\n%s", value, err, asYAML)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-value +read back):\n%s\n%s", diff, asYAML)
	}
}

func TestYAMLForm(t *testing.T) {
	type inner struct {
		Name string `json:"name"`
		Tags []any  `json:"tags"`
	}
	value := struct {
		Scope string           `json:"scope"`
		Rails []inner          `json:"rails"`
		None  []string         `json:"none"`
		Empty []string         `json:"empty"`
		Map   map[string]inner `json:"map"`
		Count uint64           `json:"count"`
		Up    bool             `json:"up"`
	}{
		"pod", []inner{{"mlx5_6", []any{"a b", []any{1, map[string]any{}}}}, {"", nil}}, nil, []string{},
		map[string]inner{"0000:1a:00.2": {Name: "yes"}}, 1<<64 - 1, true,
	}
	want := `scope: pod
rails:
  - name: mlx5_6
    tags:
      - "a b"
      -
        - 1
        - {}
  - name: ""
    tags: null
none: null
empty: []
map:
  "0000:1a:00.2":
    name: "yes"
    tags: null
count: 18446744073709551615
up: true
`
	_, got := encoded(t, value)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	readBack(t, value)
}

// hostile strings are invalid YAML, or something else than a string, without quotes.
var hostile = []string{
	"", " ", "a ", " a", "a: b", ": ", ":", "a:", "- ", "-", "- a", "--- a", "---", "...", "? a", "# a", "a # b", "a#b",
	"%TAG", "@a", "`a",
	"&a", "*a", "!a", "!!int 1", "|", ">", "|-", "<<", "=", "[a]", "{a: b}", "a, b", "'a'", `"a"`, `\`, `a\n`, "~",
	"null", "Null", "NULL", "yes",
	"Yes", "YES", "no", "on", "OFF", "y", "N", "true", "False", ".inf", "-.Inf", ".nan", "0", "-1", "+1", "0x1", "0o7",
	"0b1", "012", "1e3", "1_000",
	"1.5", "1.", ".5", "12:30:45", "2001-01-01", "2001-01-01T00:00:00Z", "a\nb", "\n", "a\n", "\na", "a\r\nb", "\t",
	"a\tb", "\x00", "\x1b[31m",
	"\x7f", "\u0080", "\u0085", "\u009b", "\u00a0", "\u2028", "\u2029", "\ufeff", "\ufffe", "\uffff", "\ue000", "\xff",
	"ü", "日本", "😀",
	"<a&b>", "_", "/", "a/b", "mlx5_6", "0000:1a:00.2", "::ffff:10.1.1.1", strings.Repeat("long ", 200),
}

func TestYAMLOfHostileStrings(t *testing.T) {
	for _, s := range hostile {
		readBack(t, s)
		readBack(t, []string{s, s})
		readBack(t, map[string]string{s: s})
		readBack(t, map[string]any{"a": []any{map[string]any{s: map[string]any{s: []any{}}}, []any{[]any{s}}}})
	}
}

func TestYAMLOfNumbers(t *testing.T) {
	for name, value := range map[string]any{
		"largest": uint64(1<<64 - 1), "smallest": int64(-1 << 63), "fraction": 0.1, "exponent": 1e21, "tiny": 1e-7,
		"as a key": map[int]int{-1: 0},
	} {
		t.Run(name, func(t *testing.T) { readBack(t, value) })
	}
}

func FuzzYAML(f *testing.F) {
	for _, s := range hostile {
		quoted, err := json.Marshal(map[string]any{s: []any{s, nil, true, 1.5, map[string]any{s: []any{}}}})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(quoted)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var value any
		// A key on one line has at most 1024 characters (YAML 1.2, 7.4.2). Railhead's keys are field names.
		if len(data) <= 300 && json.Unmarshal(data, &value) == nil {
			readBack(t, value)
		}
	})
}
