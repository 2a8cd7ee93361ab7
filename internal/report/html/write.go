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
	"github.com/railhead/railhead/internal/rules"
)

//go:generate ./echarts/fetch.sh

// Assets of the page. ECharts is the file that its makers publish, of the version in echarts/fetch.sh.
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

// order in which the scripts stand in the page: each uses what those before it define.
var order = []string{"theme", "charts", "topology", "links", "rates", "main"}

// Write writes the page as one file.
func Write(w io.Writer, p Page) error { return write(w, p, "") }

// WriteLive writes the page as a server shows it: the same, and it comes again whenever a server-sent event from the
// URL says so.
func WriteLive(w io.Writer, p Page, events string) error { return write(w, p, events) }

func write(w io.Writer, p Page, events string) error {
	v, err := show(p, events)
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
	// Blocks are script elements: data that nobody executes, the packed library, and the one script, which unpacks it.
	Blocks []template.HTML
}

func show(p Page, events string) (view, error) {
	code, err := script()
	if err != nil {
		return view{}, err
	}
	library, err := unpack(echarts)
	if err != nil {
		return view{}, fmt.Errorf("unpack ECharts: %w", err)
	}
	v := view{Page: p, Events: events, Style: template.CSS(style)}
	connect := "'none'"
	if events != "" {
		connect = "'self'"
	}
	// Charts set styles of elements that they make. No image, font or style can come from anywhere but the page.
	v.Policy = fmt.Sprintf("default-src 'none'; script-src %s %s; style-src 'unsafe-inline'; img-src data: blob:; connect-src %s; base-uri 'none'; form-action 'none'",
		hash(library), hash(code), connect)
	data, err := json.Marshal(charts(p)) // escapes <, > and &
	if err != nil {
		return view{}, err
	}
	v.block(`type="application/json" id="data"`, data)
	for i := range p.Links {
		v.block(fmt.Sprintf(`type="text/plain" class="links" id="links-%d"`, i), []byte(p.Links[i].packed))
	}
	v.block(`type="text/plain" id="echarts"`, []byte(base64.StdEncoding.EncodeToString(echarts)))
	v.block("", code)
	return v, nil
}

func (v *view) block(attributes string, content []byte) {
	v.Blocks = append(v.Blocks, template.HTML("<script "+attributes+">"+string(content)+"</script>"))
}

// hash returns the form in which a content security policy allows one inline script.
func hash(code []byte) string {
	sum := sha256.Sum256(code)
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// script is all of the page's own code.
func script() ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("\"use strict\";\n")
	for _, name := range order {
		text, err := scripts.ReadFile("assets/js/" + name + ".js")
		if err != nil {
			return nil, err
		}
		b.Write(text)
	}
	return b.Bytes(), nil
}

func unpack(packed []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

// pack is gzip in base64: what HTML can carry and browsers unpack by themselves.
func pack(data []byte) string {
	var b bytes.Buffer
	text := base64.NewEncoder(base64.StdEncoding, &b)
	zip := gzip.NewWriter(text)
	_, _ = zip.Write(data) // a Buffer takes everything
	_ = zip.Close()
	_ = text.Close()
	return b.String()
}

// page is parsed when it is wanted: most commands of railhead write none, and start in milliseconds.
var page = sync.OnceValues(func() (*template.Template, error) {
	return template.New("page").Funcs(functions).Parse(pageText)
})

// functions for the template.
var functions = template.FuncMap{
	"word": word, "where": where, "number": number, "percent": percent,
	"date":   func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 MST") },
	"join":   strings.Join,
	"names":  names,
	"most":   func(n int, all []string) []string { return all[:min(n, len(all))] },
	"over":   func(n int, all []string) int { return max(0, len(all)-n) },
	"anchor": func(i int) string { return fmt.Sprintf("finding-%d", i+1) },
	"quiet":  quiet,
}

// word is a status as the page says it.
func word(s check.Status) string {
	switch s {
	case check.Pass:
		return "Pass"
	case check.Skipped:
		return "Info"
	case check.Unknown:
		return "Unknown"
	case check.Warn:
		return "Warning"
	case check.Fail:
		return "Fail"
	}
	return s.String()
}

// where says which machines a finding is on.
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

// quiet are the checks that could not be made because of a finding.
func quiet(p rules.Problem) []string {
	var ids []string
	for _, c := range p.Consequences {
		if c.Text == "" {
			ids = append(ids, string(c.Check))
		}
	}
	return ids
}

func names(refs []check.Ref) []string {
	var all []string
	for _, r := range refs {
		all = append(all, r.String())
	}
	return all
}
