package main

import (
	"fmt"
	"path"
	"path/filepath"
	"strings"
)

// repository has the files that are not in the site, such as sources.
const repository = "https://github.com/railhead/railhead/blob/main/"

// resolve returns the link of a page for the site: to a page, to a published file, or to the repository.
func (s *site) resolve(p *page, link string) (string, error) {
	file, anchor, hasAnchor := strings.Cut(link, "#")
	if file == "" || strings.Contains(file, "://") || strings.HasPrefix(file, "mailto:") {
		return link, nil
	}
	source := path.Join(path.Dir(p.source), file)
	if strings.HasPrefix(source, "../") {
		return "", fmt.Errorf("%s leaves the repository", link)
	}
	to := repository + source
	if target, ok := s.targets[source]; ok {
		to = relative(p.target, target)
	}
	if hasAnchor {
		to += "#" + anchor
	}
	return to, nil
}

// relative returns the link from one path of the site to another.
func relative(from, to string) string {
	link, err := filepath.Rel(path.Dir(from), to)
	if err != nil {
		panic(err) // both are relative to the site
	}
	return filepath.ToSlash(link)
}
