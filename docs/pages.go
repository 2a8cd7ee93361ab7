// Package docs holds the pages of the checks, for the command that prints them.
package docs

import (
	"embed"
	"io/fs"
	"strings"
)

//go:embed checks/*.md
var checks embed.FS

// CheckPage returns the page of a check.
func CheckPage(id string) (string, error) {
	text, err := checks.ReadFile("checks/" + id + ".md")
	return string(text), err
}

// Checks are the names of all checks that have a page, sorted.
func Checks() []string {
	entries, err := fs.ReadDir(checks, "checks")
	if err != nil {
		return nil // the folder is in the program
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".md"))
	}
	return names
}
