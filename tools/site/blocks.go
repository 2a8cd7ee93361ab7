package main

import (
	"fmt"
	"html"

	"github.com/alecthomas/chroma/v2"
	chromahtml "github.com/alecthomas/chroma/v2/formatters/html"
	"github.com/alecthomas/chroma/v2/lexers"
	"github.com/alecthomas/chroma/v2/styles"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"
)

// blocks renders code with colours, and headings with a link to themselves.
type blocks struct{}

// RegisterFuncs registers the renderers.
func (blocks) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindFencedCodeBlock, code)
	r.Register(ast.KindHeading, headingTag)
}

func code(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	language := string(n.(*ast.FencedCodeBlock).Language(source))
	lexer := lexers.Get(language)
	if lexer == nil {
		lexer = lexers.Fallback
	}
	tokens, err := chroma.Coalesce(lexer).Tokenise(nil, string(n.Lines().Value(source)))
	if err != nil {
		return ast.WalkStop, err
	}
	// The focus lets a keyboard scroll a block that is wider than the window.
	fmt.Fprintf(w, `<pre tabindex="0" data-language="%s"><code>`, html.EscapeString(language))
	format := chromahtml.New(chromahtml.WithClasses(true), chromahtml.PreventSurroundingPre(true))
	if err := format.Format(w, styles.Fallback, tokens); err != nil {
		return ast.WalkStop, err
	}
	_, err = w.WriteString("</code></pre>\n")
	return ast.WalkSkipChildren, err
}

func headingTag(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	h := n.(*ast.Heading)
	id, _ := h.AttributeString("id")
	var err error
	switch {
	case entering:
		_, err = fmt.Fprintf(w, `<h%d id="%s">`, h.Level, id)
	case h.Level == 1:
		_, err = w.WriteString("</h1>\n")
	default:
		const link = ` <a class="anchor" href="#%s" aria-label="link to this section">#</a></h%d>` + "\n"
		_, err = fmt.Fprintf(w, link, id, h.Level)
	}
	return ast.WalkContinue, err
}
