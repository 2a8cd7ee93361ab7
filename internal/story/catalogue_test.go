package story

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCausesPage: the page of all causes is that of the catalogue.
func TestCausesPage(t *testing.T) {
	const path = "../../docs/causes.md"
	if *update {
		if err := os.WriteFile(path, []byte(CausesPage()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(CausesPage(), string(page)); diff != "" {
		t.Errorf("go test ./internal/story -run TestCausesPage -update:\n%s", diff)
	}
}
