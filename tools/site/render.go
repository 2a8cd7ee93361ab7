package main

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
)

//go:embed assets
var assets embed.FS

// view holds the values for the template of a page.
type view struct {
	Title, Version  string
	Class           string // of the page, for its style: home, reference or none
	Root            string // of the site, relative to the page
	Body            template.HTML
	Headings        []heading
	Sections        []navigation
	Previous, After *link
}

type navigation struct {
	Title string
	Links []link
}

type link struct {
	Title, Href string
	Current     bool
	Below       []link
}

// render returns all files of the site.
func (s *site) render(version string) (map[string][]byte, error) {
	files := maps.Clone(s.files)
	layout, err := template.ParseFS(assets, "assets/page.html")
	if err != nil {
		return nil, err
	}
	for _, p := range s.pages {
		var b bytes.Buffer
		if err := layout.Execute(&b, s.view(p, version)); err != nil {
			return nil, err
		}
		files[p.target] = b.Bytes()
	}
	for _, name := range []string{"style.css", "site.js", "icon.svg"} {
		if files["assets/"+name], err = fs.ReadFile(assets, "assets/"+name); err != nil {
			return nil, err
		}
	}
	files["assets/search.js"], err = s.index()
	return files, err
}

func (s *site) view(p *page, version string) view {
	v := view{
		Title:    p.title,
		Version:  version,
		Class:    class(p.target),
		Root:     strings.Repeat("../", strings.Count(p.target, "/")),
		Body:     template.HTML(p.body),
		Headings: slices.DeleteFunc(slices.Clone(p.headings), func(h heading) bool { return h.Level > 2 }),
	}
	var order []link // of the pages in the navigation
	at := -1
	for _, c := range contents {
		n := navigation{Title: c.Title}
		for _, e := range c.entries {
			to, ok := s.pages[e.source]
			if !ok {
				continue // not written yet
			}
			l := link{Title: e.title, Href: relative(p.target, to.target), Current: to == p}
			if l.Current {
				at = len(order)
			}
			order = append(order, l)
			if e.folder != "" && (l.Current || path.Dir(p.source) == e.folder) {
				l.Below = s.below(p, e)
			}
			n.Links = append(n.Links, l)
		}
		v.Sections = append(v.Sections, n)
	}
	if at > 0 {
		v.Previous = &order[at-1]
	}
	if at >= 0 && at+1 < len(order) {
		v.After = &order[at+1]
	}
	return v
}

func class(target string) string {
	switch {
	case target == "index.html":
		return "home"
	case strings.HasPrefix(target, "reference/"):
		return "reference"
	}
	return ""
}

// below returns the other pages of an entry's folder; only the current one if they are too many to choose from.
func (s *site) below(p *page, e entry) []link {
	var all []link
	for source, to := range s.pages {
		if path.Dir(source) == e.folder && source != e.source {
			title := strings.TrimPrefix(to.title, e.title+" ")
			all = append(all, link{Title: title, Href: relative(p.target, to.target), Current: to == p})
		}
	}
	slices.SortFunc(all, func(a, b link) int { return strings.Compare(a.Title, b.Title) })
	if len(all) > 40 {
		all = slices.DeleteFunc(all, func(l link) bool { return !l.Current })
	}
	return all
}

// index returns a script with the text of all pages: a script, because a page from a file cannot fetch data.
func (s *site) index() ([]byte, error) {
	var all [][4]string // address, page, heading, text
	for _, source := range slices.Sorted(maps.Keys(s.pages)) {
		p := s.pages[source]
		for _, t := range p.texts {
			address := p.target
			if t.id != "" {
				address += "#" + t.id
			}
			all = append(all, [4]string{address, p.title, t.heading, strings.TrimSpace(t.text)})
		}
	}
	text, err := json.Marshal(all)
	return fmt.Appendf(nil, "window.searchIndex = %s;\n", text), err
}
