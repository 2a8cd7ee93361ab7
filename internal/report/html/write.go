package html

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/report"
	"github.com/railhead/railhead/internal/rules"
	"github.com/railhead/railhead/internal/words"
)

//go:generate ./echarts/fetch.sh

// Assets of the page. echarts is the published file of the version in echarts/fetch.sh.
var (
	//go:embed assets/page.tmpl
	pageText string
	//go:embed assets/page.css
	style string
	//go:embed assets/js
	scripts embed.FS
	//go:embed echarts/echarts.min.js.gz
	echarts []byte
)

// scriptOrder lists the scripts; each uses definitions of those before it.
var scriptOrder = []string{"theme", "charts", "topology", "links", "rates", "wire", "main"}

// Write writes the page as one file.
func Write(w io.Writer, p Page) error { return WriteLive(w, p, "") }

// WriteLive writes the page for a server. It reloads on each server-sent event from the URL in events.
func WriteLive(w io.Writer, p Page, events string) error {
	v, err := newView(p, events)
	if err != nil {
		return err
	}
	t, err := page()
	if err != nil {
		return err
	}
	return t.Execute(w, v)
}

// view has the values for the template.
type view struct {
	Page
	Events string
	Policy string // Content-Security-Policy
	Style  template.CSS
	// Blocks are the script elements: data, the compressed library, and the script that unpacks and uses them.
	Blocks []template.HTML
}

func newView(p Page, events string) (view, error) {
	code, err := script()
	if err != nil {
		return view{}, err
	}
	library, err := unpack(echarts)
	if err != nil {
		return view{}, fmt.Errorf("unpack ECharts: %w", err)
	}
	data, err := json.Marshal(p) // escapes <, > and &
	if err != nil {
		return view{}, err
	}
	connect := "'none'"
	if events != "" {
		connect = "'self'"
	}
	policy := []string{
		"default-src 'none'",
		"script-src " + hash(library) + " " + hash(code),
		"style-src 'unsafe-inline'", // ECharts sets styles of the elements that it creates
		"img-src data: blob:",
		"connect-src " + connect,
		"base-uri 'none'",
		"form-action 'none'",
	}
	v := view{Page: p, Events: events, Policy: strings.Join(policy, "; "), Style: template.CSS(style)}
	v.block(`type="application/json" id="data"`, string(data))
	for i, l := range p.Links {
		v.block(fmt.Sprintf(`type="text/plain" class="links" id="links-%d"`, i), l.packed)
	}
	v.block(`type="text/plain" id="echarts"`, base64.StdEncoding.EncodeToString(echarts))
	v.block("", string(code))
	return v, nil
}

func (v *view) block(attributes, content string) {
	v.Blocks = append(v.Blocks, template.HTML("<script "+attributes+">"+content+"</script>"))
}

// hash returns the source expression by which a Content-Security-Policy allows one inline script.
func hash(code []byte) string {
	sum := sha256.Sum256(code)
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// script joins the scripts of the page.
func script() ([]byte, error) {
	code := []byte("\"use strict\";\n")
	for _, name := range scriptOrder {
		text, err := scripts.ReadFile("assets/js/" + name + ".js")
		if err != nil {
			return nil, err
		}
		code = append(code, text...)
	}
	return code, nil
}

func unpack(packed []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

// pack compresses data to gzip in base64, which HTML can contain and browsers can unpack.
func pack(data []byte) string {
	var b bytes.Buffer
	text := base64.NewEncoder(base64.StdEncoding, &b)
	zip := gzip.NewWriter(text)
	_, _ = zip.Write(data) // a Buffer returns no error
	_ = zip.Close()
	_ = text.Close()
	return b.String()
}

// page parses the template on first use: most commands of railhead write no page and should start in milliseconds.
var page = sync.OnceValues(func() (*template.Template, error) {
	return template.New("page").Funcs(functions).Parse(pageText)
})

// functions for the template.
var functions = template.FuncMap{
	"word":     word,
	"where":    where,
	"number":   number,
	"percent":  report.Percent,
	"skipped":  skipped,
	"date":     func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 MST") },
	"machines": machines,
}

// word returns a status as the page shows it.
func word(s check.Status) string {
	switch s {
	case check.Skipped:
		return "Info"
	case check.Warn:
		return "Warning"
	case check.Pass, check.Unknown, check.Fail:
	}
	return strings.ToUpper(s.String()[:1]) + s.String()[1:]
}

// where returns the machines that have a finding, and the part of them that it is about.
func where(p rules.Problem) string {
	subject := p.Subject.String()
	if p.Subject.Obvious() {
		subject = ""
	}
	switch n := len(p.Machines); {
	case n == 1 && subject != "" && p.Machines[0] != p.Subject:
		return p.Machines[0].String() + ", " + subject
	case n == 1:
		return p.Machines[0].String()
	case n > 1:
		return fmt.Sprintf("%d of %d %ss", n, p.Of, p.Machines[0].Kind)
	}
	return subject
}

// skipped returns the checks that were skipped because of a finding.
func skipped(p rules.Problem) string {
	var ids []string
	for _, c := range p.Consequences {
		if c.Text == "" {
			ids = append(ids, string(c.Check))
		}
	}
	return strings.Join(ids, ", ")
}

func machines(refs []check.Ref) string {
	names := make([]string, len(refs))
	for i, r := range refs {
		names[i] = r.String()
	}
	return words.Few(names, 200)
}
