package main

import (
	"os"
	"path/filepath"
	"regexp"
)

// documents returns LICENSE and README.md of the repository at root, and the licences of all modules that the programs
// link. The page's links lead to base.
func documents(root, base string, platforms []platform) ([]file, error) {
	licence, err := os.ReadFile(filepath.Join(root, "LICENSE"))
	if err != nil {
		return nil, err
	}
	page, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		return nil, err
	}
	modules, err := modulesIn(root, platforms)
	if err != nil {
		return nil, err
	}
	linked, err := licences(modules)
	return []file{
		{"LICENSE", 0o644, licence},
		{"LICENSES-OF-MODULES", 0o644, linked},
		{"README.md", 0o644, absoluteLinks(page, base)},
	}, err
}

var relativeLink = regexp.MustCompile(`\]\(([^):#][^):]*)\)`)

// absoluteLinks lets the links of a page lead to the repository, for readers who have nothing but the page.
func absoluteLinks(page []byte, base string) []byte {
	return relativeLink.ReplaceAll(page, []byte("]("+base+"$1)"))
}
