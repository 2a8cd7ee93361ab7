package main

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// heading is a heading of a page below its title.
type heading struct {
	Level    int
	ID, Text string
}

// passage is the text below a heading, for the search.
type passage struct{ id, heading, text string }

// page returns a page from its Markdown.
func (s *site) page(source string, markdown []byte) (*page, error) {
	p := &page{source: source, target: s.targets[source]}
	md := goldmark.New(
		goldmark.WithExtensions(extension.GFM),
		goldmark.WithParserOptions(parser.WithAutoHeadingID()),
		goldmark.WithRendererOptions(
			html.WithUnsafe(), // the pages are our own: <picture>
			renderer.WithNodeRenderers(util.Prioritized(blocks{}, 100)),
		),
	)
	context := parser.NewContext(parser.WithIDs(anchors{}))
	document := md.Parser().Parse(text.NewReader(markdown), parser.WithContext(context))
	if err := s.rewrite(p, document, markdown); err != nil {
		return nil, err
	}
	p.collect(document, markdown)
	if p.title == "" {
		return nil, errors.New("no title")
	}
	var b bytes.Buffer
	if err := md.Renderer().Render(&b, markdown, document); err != nil {
		return nil, err
	}
	const table, end = "<table>", "</table>"
	p.body = strings.NewReplacer(table, `<div class="table" tabindex="0">`+table, end, end+"</div>").Replace(b.String())
	return p, nil
}

// rewrite makes the links of a page those of the site, links the names of checks,
// and links pictures to themselves, so that a phone can show them large.
func (s *site) rewrite(p *page, document ast.Node, markdown []byte) error {
	var names []*ast.CodeSpan
	var pictures []*ast.Image
	err := ast.Walk(document, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Link:
			to, err := s.resolve(p, string(n.Destination))
			n.Destination = []byte(to)
			return ast.WalkSkipChildren, err
		case *ast.Heading:
			return ast.WalkSkipChildren, nil
		case *ast.CodeSpan:
			names = append(names, n)
		case *ast.Image:
			pictures = append(pictures, n)
		}
		return ast.WalkContinue, nil
	})
	for _, n := range names {
		check, ok := s.targets[checksFolder+"/"+plain(n, markdown)+".md"]
		if ok && check != p.target {
			wrap(n, relative(p.target, check))
		}
	}
	for _, n := range pictures {
		wrap(n, string(n.Destination))
	}
	return err
}

// wrap puts a link around a node.
func wrap(n ast.Node, to string) {
	link := ast.NewLink()
	link.Destination = []byte(to)
	n.Parent().ReplaceChild(n.Parent(), n, link)
	link.AppendChild(link, n)
}

// collect takes the title, the headings and the text of a page.
func (p *page) collect(document ast.Node, markdown []byte) {
	for n := document.FirstChild(); n != nil; n = n.NextSibling() {
		words := plain(n, markdown)
		h, ok := n.(*ast.Heading)
		switch {
		case ok && h.Level == 1:
			p.title = words
			p.texts = append(p.texts, passage{})
		case ok:
			id, _ := h.AttributeString("id")
			p.headings = append(p.headings, heading{h.Level, fmt.Sprintf("%s", id), words})
			p.texts = append(p.texts, passage{id: fmt.Sprintf("%s", id), heading: words})
		case len(p.texts) > 0:
			p.texts[len(p.texts)-1].text += words + " "
		}
	}
}

// plain returns the text of a node without its markup.
func plain(n ast.Node, markdown []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // no step returns an error
		switch {
		case !entering && n.Type() == ast.TypeBlock:
			b.WriteByte(' ')
		case !entering:
		case n.Kind() == ast.KindText:
			t := n.(*ast.Text)
			b.Write(t.Value(markdown))
			if t.SoftLineBreak() {
				b.WriteByte(' ')
			}
		case n.Kind() == ast.KindFencedCodeBlock:
			b.Write(n.Lines().Value(markdown))
		}
		return ast.WalkContinue, nil
	})
	return strings.Join(strings.Fields(b.String()), " ")
}

// anchors gives headings the anchors that GitHub gives them: docs/links_test.go asserts the links to them.
type anchors map[string]bool

// Generate returns the anchor of a heading, which is unique on its page.
func (a anchors) Generate(value []byte, _ ast.NodeKind) []byte {
	name := strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case unicode.IsLetter(r), unicode.IsNumber(r), r == '-', r == '_':
			return unicode.ToLower(r)
		}
		return -1
	}, string(value))
	unique := name
	for i := 1; a[unique]; i++ {
		unique = fmt.Sprintf("%s-%d", name, i)
	}
	a[unique] = true
	return []byte(unique)
}

// Put notes an anchor that a page sets itself.
func (a anchors) Put(value []byte) { a[string(value)] = true }
