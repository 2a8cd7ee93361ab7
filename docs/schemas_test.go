package docs

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// TestSchemasPage: the page has a row for each schema, with its command and its version, and no other.
func TestSchemasPage(t *testing.T) {
	files, err := filepath.Glob("schemas/*.json")
	if err != nil || len(files) < 13 {
		t.Fatal(len(files), err)
	}
	page := read(t, "schemas.md")
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		text, err := Schema(name)
		if err != nil {
			t.Fatal(err)
		}
		var s struct {
			Title      string
			Properties struct{ SchemaVersion struct{ Const int } }
		}
		if err := json.Unmarshal(text, &s); err != nil || s.Title == "" {
			t.Errorf("%s: %q, %v", file, s.Title, err)
		}
		version := ""
		if v := s.Properties.SchemaVersion.Const; v > 0 {
			version = fmt.Sprint(v, " ")
		}
		row := fmt.Sprintf("| `%s` | [%s](%s): ", s.Title, name, file)
		_, rest, found := strings.Cut(page, "\n"+row)
		rest, _, _ = strings.Cut(rest, "\n")
		if !found || !strings.HasSuffix(rest, " | "+version+"|") {
			t.Errorf("schemas.md has no row %s... | %s|", row, version)
		}
	}
	if rows := strings.Count(page, "\n| `"); rows != len(files) {
		t.Errorf("%d rows, %d schemas", rows, len(files))
	}
}
