// Package plantest provides clusters and golden files for the tests of plans.
package plantest

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Update rewrites golden files instead of comparing them.
var Update = flag.Bool("update", false, "rewrite the golden files")

// Golden compares a text with testdata/name.
func Golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *Update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got; if got is right, run the test with -update, or make generate):\n%s", file, diff)
	}
}
