package fault

import (
	"os"
	"strings"
	"testing"
)

// TestRecordings: what a machine looks like with each fault is a recording of the fast tests, and the list of them names it.
func TestRecordings(t *testing.T) {
	const folder = "../../testdata/hosts/"
	list, err := os.ReadFile(folder + "README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range All() {
		if f.Nodes || f.Namespace != "" {
			continue // of clusters and of pods
		}
		name := "lab-" + f.Name
		text, err := os.ReadFile(folder + name + ".txtar")
		if err != nil {
			t.Error(err)
			continue
		}
		if first, _, _ := strings.Cut(string(text), "\n"); !strings.Contains(first, f.Title) {
			t.Errorf("%s begins with %q, not with %q: record it anew", name, first, f.Title)
		}
		if !strings.Contains(string(list), "| "+name+" | ") {
			t.Errorf("README.md does not name %s", name)
		}
	}
}
