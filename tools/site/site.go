package main

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// page is a page of the site.
type page struct {
	source, target string // "docs/wire.md", "wire.html"
	title          string
	body           string
	headings       []heading
	texts          []passage
}

// site is all that the documentation holds.
type site struct {
	pages   map[string]*page  // by source
	targets map[string]string // source of a page or another file -> path in the site
	files   map[string][]byte // other files that are published: pictures, roles, schemas
}

// read reads the documentation of a repository.
func read(root fs.FS) (*site, error) {
	s := &site{pages: map[string]*page{}, targets: map[string]string{}, files: map[string][]byte{}}
	texts := map[string][]byte{}
	add := func(source string) error {
		text, err := fs.ReadFile(root, source)
		if err != nil {
			return err
		}
		switch path.Ext(source) {
		case ".md":
			texts[source] = text
			s.targets[source] = pageTarget(source)
			if path.Base(source) == "README.md" {
				s.targets[path.Dir(source)] = s.targets[source]
			}
		case ".go":
		default:
			s.targets[source] = strings.TrimPrefix(source, "docs/")
			s.files[s.targets[source]] = text
		}
		return nil
	}
	for _, source := range []string{"CONTRIBUTING.md", "SECURITY.md"} {
		if _, err := fs.Stat(root, source); err != nil {
			continue
		}
		if err := add(source); err != nil {
			return nil, err
		}
	}
	err := fs.WalkDir(root, "docs", func(source string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		return add(source)
	})
	if err != nil {
		return nil, err
	}
	s.targets["README.md"] = "index.html"
	s.targets[checksFolder] = "checks/index.html"
	for _, source := range slices.Sorted(maps.Keys(texts)) {
		if s.pages[source], err = s.page(source, texts[source]); err != nil {
			return nil, fmt.Errorf("%s: %w", source, err)
		}
	}
	s.pages[checksFolder], err = s.page(checksFolder, checkList(texts))
	return s, cmp.Or(err, s.listed())
}

const checksFolder = "docs/checks"

// pageTarget returns where a page is in the site: README.md is the index of its folder. Pages of the root have a folder
// of their own, because SECURITY.md is not docs/security.md.
func pageTarget(source string) string {
	target, inDocs := strings.CutPrefix(source, "docs/")
	if !inDocs {
		target = "project/" + target
	}
	if path.Base(target) == "README.md" {
		return path.Join(path.Dir(target), "index.html")
	}
	return strings.ToLower(strings.TrimSuffix(target, ".md")) + ".html"
}

// checkList returns a page with all checks and their healthy facts.
func checkList(texts map[string][]byte) []byte {
	var b strings.Builder
	b.WriteString("# Checks\n\nEvery finding of Railhead ends with the name of its check in brackets. The page " +
		"of a check says what the finding means, how to see it by hand, and the fix. " +
		"`railhead explain-check NAME` prints it in a terminal.\n\n| check | healthy if |\n|---|---|\n")
	for _, source := range slices.Sorted(maps.Keys(texts)) {
		if path.Dir(source) != checksFolder {
			continue
		}
		_, fact, _ := strings.Cut(string(texts[source]), "**Healthy:** ")
		fact, _, _ = strings.Cut(fact, "\n")
		name := path.Base(source)
		fmt.Fprintf(&b, "| [%s](checks/%s) | %s |\n", strings.TrimSuffix(name, ".md"), name, fact)
	}
	return []byte(b.String())
}

// listed returns an error if a page is not in the navigation.
func (s *site) listed() error {
	known := map[string]bool{}
	for _, c := range contents {
		for _, e := range c.entries {
			known[e.source] = true
			if e.folder != "" {
				known[e.folder+"/"] = true
			}
		}
	}
	for _, source := range slices.Sorted(maps.Keys(s.pages)) {
		if !known[source] && !known[path.Dir(source)+"/"] {
			return fmt.Errorf("%s is not in the navigation: add it to tools/site/contents.go", source)
		}
	}
	return nil
}

// write replaces the files of a folder.
func write(out string, files map[string][]byte) error {
	if err := os.RemoveAll(out); err != nil {
		return err
	}
	for name, text := range files {
		file := filepath.Join(out, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
