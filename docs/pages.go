// Package docs holds the pages of the checks and the schemas of outputs, for the commands that offer them.
package docs

import (
	"embed"
	"io/fs"
	"strings"
)

//go:embed checks/*.md
var checks embed.FS

//go:embed schemas/*.json
var schemas embed.FS

// Schema returns the JSON schema of an output, such as railhead-doctor.
func Schema(name string) ([]byte, error) { return schemas.ReadFile("schemas/" + name + ".json") }

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
