package main

import (
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"
)

var keep = flag.String("keep", "", "folder for screenshots of the browser test")

// TestSite asserts that everything that the built pages link to or load is there.
func TestSite(t *testing.T) {
	folder := built(t)
	report(t, broken(os.DirFS(folder)))
	for _, name := range []string{"index.html", "checks/index.html", "checks/memlock-limit.html", "glossary.html",
		"project/security.html", "security.html", "reference/railhead/deploy.html", "reference/railhead-pod/index.html",
		"assets/search.js", "pictures/rail.svg"} {
		if _, err := os.Stat(filepath.Join(folder, name)); err != nil {
			t.Error(err)
		}
	}
}

// TestBroken asserts that each kind of broken link is found.
func TestBroken(t *testing.T) {
	page := func(body string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte("<title>x</title><h1 id=top>x</h1>" + body)}
	}
	got := broken(fstest.MapFS{
		"good.html":      page(`<a href="sub/page.html#top"><img src="a.svg"></a><a href="https://example.org">x</a><a href="#top">x</a>`),
		"a.svg":          {},
		"sub/page.html":  page(`<a href="../good.html">x</a><script src="https://example.org/x.js"></script>`),
		"sub/other.html": page(`<a href="gone.html">x</a><a href="../good.html#gone">x</a><img srcset="//example.org/x.png 2x">`),
		"style.css":      {Data: []byte(`@import "x.css"; a { background: url(https://example.org/x.png) }`)},
		"twice.html":     page(`<p id=top>`),
	})
	want := []string{
		"style.css loads @import",
		"style.css loads url(",
		"sub/other.html links to ../good.html#gone, which has no such anchor",
		"sub/other.html links to gone.html, which is missing",
		"sub/other.html loads //example.org/x.png",
		"sub/page.html loads https://example.org/x.js",
		"twice.html has the anchor top twice",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestNavigation asserts that a page in no navigation is refused.
func TestNavigation(t *testing.T) {
	docs := fstest.MapFS{
		"docs/index.md":            {Data: []byte("# Start\n")},
		"docs/checks/some-name.md": {Data: []byte("# some-name\n\n**Healthy:** yes\n")},
	}
	if _, err := read(docs); err != nil {
		t.Error(err)
	}
	docs["docs/forgotten.md"] = &fstest.MapFile{Data: []byte("# Forgotten\n")}
	if _, err := read(docs); err == nil || !strings.Contains(err.Error(), "docs/forgotten.md is not in the navigation") {
		t.Errorf("error is %v", err)
	}
}

// TestContents asserts that the navigation lists pages that exist.
func TestContents(t *testing.T) {
	s, err := read(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range contents {
		for _, e := range c.entries {
			if s.pages[e.source] == nil {
				t.Errorf("%s is in the navigation, but not in the repository", e.source)
			}
		}
	}
}

// TestPage asserts how Markdown becomes a page.
func TestPage(t *testing.T) {
	s, err := read(fstest.MapFS{
		"README.md":            {},
		"CONTRIBUTING.md":      {Data: []byte("# Contributing\n\n[guide](docs/wire.md#one-two)\n")},
		"docs/rights/user.yml": {},
		"docs/checks/a-b.md":   {Data: []byte("# a-b\n\n**Healthy:** fact\n\n[up](../wire.md), `a-b`\n")},
		"docs/wire.md": {Data: []byte("# Wire\n\n## One, two\n\n`a-b` [b](checks/a-b.md) [all](checks/) " +
			"[code](../internal/wire) [file](rights/user.yml) [top](../README.md#x)\n\n## One two\n")},
	})
	if err != nil {
		t.Fatal(err)
	}
	for source, want := range map[string][]string{
		"CONTRIBUTING.md":    {`<a href="../wire.html#one-two">`},
		"docs/checks/a-b.md": {`<a href="../wire.html">up</a>, <code>a-b</code>`},
		"docs/checks":        {`<a href="a-b.html">a-b</a>`, "fact"},
		"docs/wire.md": {
			`<a href="checks/a-b.html"><code>a-b</code></a> <a href="checks/a-b.html">b</a>`,
			`<a href="checks/index.html">`, `href="` + repository + `internal/wire"`, `href="rights/user.yml"`,
			`href="index.html#x"`, `<h2 id="one-two">`, `<h2 id="one-two-1">`,
		},
	} {
		for _, w := range want {
			if body := s.pages[source].body; !strings.Contains(body, w) {
				t.Errorf("%s has no %s in\n%s", source, w, body)
			}
		}
	}
}

// built builds the site of this repository.
func built(t *testing.T) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "site")
	if _, err := build("../..", folder, "v1.2.3"); err != nil {
		t.Fatal(err)
	}
	return folder
}

func report(t *testing.T, broken []string) {
	t.Helper()
	for _, b := range broken {
		t.Error(b)
	}
}

// document has the anchors of a page of the site, and the files and pages that it needs.
type document struct {
	ids          map[string]bool
	links, loads []string
	broken       []string
}

// broken returns the links of a site to missing files and anchors, and all that it loads from elsewhere.
func broken(site fs.FS) []string {
	var all []string
	documents := map[string]document{}
	err := fs.WalkDir(site, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(site, name)
		switch path.Ext(name) {
		case ".html":
			documents[name] = parse(string(text))
		case ".css":
			for _, word := range []string{"@import", "url("} {
				if strings.Contains(string(text), word) {
					all = append(all, name+" loads "+word)
				}
			}
		}
		return err
	})
	if err != nil {
		return []string{err.Error()}
	}
	for _, name := range slices.Sorted(maps.Keys(documents)) {
		d := documents[name]
		for _, b := range d.broken {
			all = append(all, name+" "+b)
		}
		for _, link := range d.loads {
			if external(link) {
				all = append(all, name+" loads "+link)
			} else if why := missing(site, documents, name, link); why != "" {
				all = append(all, name+" loads "+link+why)
			}
		}
		for _, link := range d.links {
			if why := missing(site, documents, name, link); why != "" && !external(link) {
				all = append(all, name+" links to "+link+why)
			}
		}
	}
	slices.Sort(all)
	return all
}

func external(link string) bool {
	return strings.Contains(link, "//") || strings.HasPrefix(link, "mailto:")
}

func missing(site fs.FS, documents map[string]document, from, link string) string {
	file, anchor, _ := strings.Cut(link, "#")
	target := from
	if file != "" {
		target = path.Join(path.Dir(from), file)
	}
	if info, err := fs.Stat(site, target); err != nil || info.IsDir() {
		return ", which is missing"
	}
	if anchor != "" && !documents[target].ids[anchor] {
		return ", which has no such anchor"
	}
	return ""
}

// parse reads the links and anchors of a page.
func parse(text string) document {
	d := document{ids: map[string]bool{}}
	for tokens := html.NewTokenizer(strings.NewReader(text)); tokens.Next() != html.ErrorToken; {
		token := tokens.Token()
		for _, a := range token.Attr {
			switch {
			case a.Key == "id" && d.ids[a.Val]:
				d.broken = append(d.broken, fmt.Sprintf("has the anchor %s twice", a.Val))
			case a.Key == "id":
				d.ids[a.Val] = true
			case a.Key == "href" && token.Data == "a":
				d.links = append(d.links, a.Val)
			case a.Key == "src", a.Key == "href", a.Key == "data", a.Key == "poster":
				d.loads = append(d.loads, a.Val)
			case a.Key == "srcset":
				for candidate := range strings.SplitSeq(a.Val, ",") {
					d.loads = append(d.loads, strings.Fields(candidate)[0])
				}
			case a.Key == "style" && strings.Contains(a.Val, "url("):
				d.broken = append(d.broken, "loads "+a.Val)
			}
		}
	}
	return d
}
