package words

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0 nodes", 1: "1 node", 13: "13 nodes"} {
		if got := Count(n, "node"); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
	for noun, want := range map[string]string{
		"process": "2 processes", "SecurityContextConstraints": "2 SecurityContextConstraints",
	} {
		if got := Count(2, noun); got != want {
			t.Errorf("%s: %q, want %q", noun, got, want)
		}
	}
}

func TestFew(t *testing.T) {
	for name, test := range map[string]struct {
		names []string
		want  string
	}{
		"none":            {nil, ""},
		"as many as fit":  {[]string{"a", "b"}, "a, b"},
		"one more":        {[]string{"a", "b", "c"}, "a, b, c"},
		"more than shown": {[]string{"a", "b", "c", "d"}, "a, b and 2 more"},
	} {
		if got := Few(test.names, 2); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

func TestAnd(t *testing.T) {
	for want, names := range map[string][]string{"": nil, "a": {"a"}, "a and b": {"a", "b"}, "a, b and c": {"a", "b", "c"}} {
		if got := And(names); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestClip(t *testing.T) {
	for text, want := range map[string]string{"short": "short", "eight888": "eight...", "ab€cdef": "ab..."} {
		most := 5
		if text == "ab€cdef" {
			most = 4
		}
		if got := Clip(text, most); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestNatural(t *testing.T) {
	want := []string{"mlx5_7", "mlx5_010", "mlx5_10", "node-2-gpu", "node-11-gpu"}
	got := []string{"node-11-gpu", "mlx5_10", "mlx5_010", "node-2-gpu", "mlx5_7"}
	slices.SortFunc(got, Natural)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
