package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestLinks: the files and headings that pages link to are there.
func TestLinks(t *testing.T) {
	pages := []string{"../README.md", "../CONTRIBUTING.md", "../SECURITY.md", "../CHANGELOG.md", "../testdata/corpus/README.md"}
	for _, pattern := range []string{"*.md", "*/*.md", "*/*/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, found...)
	}
	links := 0
	for _, page := range pages {
		for _, m := range regexp.MustCompile(`(?:\]\(|src="|srcset=")([^)"\s]+)`).FindAllStringSubmatch(read(t, page), -1) {
			file, heading, _ := strings.Cut(m[1], "#")
			if strings.Contains(file, "://") {
				continue
			}
			links++
			target := page
			if file != "" {
				target = filepath.Join(filepath.Dir(page), file)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links to %s: %v", page, m[1], err)
				continue
			}
			if heading != "" && !slices.Contains(headings(read(t, target)), heading) {
				t.Errorf("%s links to %s, which has no such heading", page, m[1])
			}
		}
	}
	if links < 60 {
		t.Errorf("%d links on %d pages", links, len(pages))
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// headings returns the anchors of a page's headings, as GitHub makes them.
func headings(page string) []string {
	var all []string
	for _, m := range regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllStringSubmatch(page, -1) {
		text := regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(strings.ToLower(m[1]), "")
		all = append(all, strings.ReplaceAll(text, " ", "-"))
	}
	return all
}
