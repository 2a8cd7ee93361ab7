package arch

import (
	"slices"
	"testing"
)

const root = "../.."

// TestLaw asserts the law on this repository; TestCheckers asserts that each of its parts can fail.
func TestLaw(t *testing.T) {
	t.Parallel()
	r := load(t)
	for name, broken := range map[string][]string{
		"arrows":           arrows(r.packages),
		"arrows in docs":   documented(r.document),
		"figures in docs":  figures(r.packages, r.document),
		"kubernetes":       kubernetes(r.packages),
		"side effects":     sideEffects(r.packages),
		"vocabulary":       vocabulary(r.packages),
		"package comments": comments(r.packages),
		"check pages":      pages(r.packages, r.pages),
		"closure":          closure(r.packages, "cmd/railhead-pod"),
		"method sets":      methodSets(r.packages),
		"english":          english(r.packages),
	} {
		t.Run(name, func(t *testing.T) { report(t, broken) })
	}
}

func TestBinary(t *testing.T) {
	if testing.Short() {
		t.Skip("links railhead-pod twice")
	}
	t.Parallel()
	load(t) // so that a cached result is not used after a change
	for _, arch := range []string{"amd64", "arm64"} {
		t.Run(arch, func(t *testing.T) {
			t.Parallel()
			b, err := build(root, t.TempDir(), arch)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%s: %d bytes of %d", b.name, b.bytes, maxBytes)
			report(t, linked(b))
		})
	}
}

func report(t *testing.T, broken []string) {
	t.Helper()
	slices.Sort(broken)
	for _, b := range broken {
		t.Error(b)
	}
}
