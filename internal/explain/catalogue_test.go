package explain

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/explain/causes"
)

// TestCausesPage: the page of all causes is that of the catalogue.
func TestCausesPage(t *testing.T) {
	const path = "../../docs/causes.md"
	if *update {
		if err := os.WriteFile(path, []byte(causesPage()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(causesPage(), string(page)); diff != "" {
		t.Errorf("go test ./internal/explain -run TestCausesPage -update:\n%s", diff)
	}
}

// causesPage returns docs/causes.md, which has all causes.
func causesPage() string {
	all := causes.Catalogue()
	slices.SortFunc(all, func(a, b causes.Entry) int { return cmp.Compare(a.ID, b.ID) })
	var page strings.Builder
	page.WriteString("# Causes\n\nWhat [`railhead explain`](explain.md) names as the cause of a run that failed, " +
		"or that used less than it could: what it means, the\nfix, and an experiment that tells it from others. " +
		"`railhead explain-check ID` prints one.\n")
	for _, e := range all {
		fmt.Fprintf(&page, "\n## %s\n\n%s.\n\n**Fix:** %s\n\n**To be sure:** %s\n", e.ID,
			escape(strings.ToUpper(e.Title[:1])+e.Title[1:]), escape(e.Fix), escape(e.Experiment))
		link := func(id check.ID) string { return fmt.Sprintf("[%s](checks/%[1]s.md)", id) }
		if text := e.OnMachines(link); text != "" {
			fmt.Fprintf(&page, "\n**On a machine:** %s\n", text)
		}
	}
	return page.String()
}

// escape keeps placeholders outside of code, such as <name>, from being HTML.
func escape(text string) string {
	parts := strings.Split(text, "`")
	for i := 0; i < len(parts); i += 2 {
		parts[i] = strings.NewReplacer("<", `\<`, "*", `\*`).Replace(parts[i])
	}
	return strings.Join(parts, "`")
}
