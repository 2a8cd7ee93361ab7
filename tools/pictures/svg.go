package main

import (
	"bytes"
	_ "embed"
	"encoding/xml"
	"fmt"
	"strings"
	"text/template"
	"time"
	"unicode/utf8"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
)

// The grid in units of the picture. The width of a character is 0.6 em in most monospaced fonts; textLength holds the
// others to it.
const (
	cellWidth  = 8.4
	lineHeight = 19
	margin     = 16
	bar        = 34 // height of the title bar
)

//go:embed terminal.svg
var svg string

// draw returns the picture of a terminal.
func (t terminal) draw(s *screen) ([]byte, error) {
	rows := s.rows()
	shown := len(rows)
	if t.Rows > 0 {
		shown = min(shown, t.Rows)
	}
	d := drawing{
		Title:    t.Title,
		Commands: t.Commands,
		Width:    int(float64(t.Columns)*cellWidth) + 2*margin,
		Height:   bar + 2*margin + shown*lineHeight,
		Bar:      bar,
		Top:      bar + margin - 1,
		Last:     rows[len(rows)-1].at.Seconds(),
	}
	for y, r := range rows {
		d.Lines = append(d.Lines, t.line(y, r))
	}
	if len(rows) > shown {
		d.Scroll = scroll(rows, shown)
		d.Hidden = (len(rows) - shown) * lineHeight
	}
	var b bytes.Buffer
	functions := template.FuncMap{"escape": escape, "sub": func(a, b int) int { return a - b }}
	err := template.Must(template.New("").Funcs(functions).Parse(svg)).Execute(&b, d)
	return b.Bytes(), err
}

type drawing struct {
	Title         string
	Commands      []string
	Width, Height int
	Bar, Top      int // the end of the title bar, and where lines that move up disappear
	Lines         []string
	Last          float64 // second in which the last line appears
	Scroll        []step
	Hidden        int // height of the lines above the last ones
}

// step moves the lines up.
type step struct {
	Percent float64 // of the time
	Up      int
}

// scroll keeps the newest line visible.
func scroll(rows []row, shown int) []step {
	whole := rows[len(rows)-1].at
	var all []step
	for y, r := range rows {
		if y < shown {
			continue
		}
		next := step{100 * float64(r.at) / float64(max(whole, 1)), (y - shown + 1) * lineHeight}
		if n := len(all); n > 0 && all[n-1].Percent == next.Percent {
			all[n-1] = next
		} else {
			all = append(all, next)
		}
	}
	return all
}

// line returns the text element of a row. A picture that is not played shows all rows at once.
func (t terminal) line(y int, r row) string {
	n := utf8.RuneCountInString(r.text())
	if n == 0 {
		return ""
	}
	motion := ""
	switch {
	case t.Played && r.typed > 0:
		motion = fmt.Sprintf(` style="animation:type %.2fs steps(%d) %.2fs backwards"`,
			(time.Duration(r.typed) * typing).Seconds(), r.typed, r.at.Seconds())
	case t.Played:
		motion = fmt.Sprintf(` style="animation:show 1ms %.2fs backwards"`, r.at.Seconds())
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<text x="%d" y="%d" textLength="%.1f"%s>`,
		margin, bar+margin+y*lineHeight+14, float64(n)*cellWidth, motion)
	for _, s := range r.spans {
		if look := classes(s.style); look != "" {
			fmt.Fprintf(&b, `<tspan %s>%s</tspan>`, look, escape(s.text))
		} else {
			b.WriteString(escape(s.text))
		}
	}
	return b.String() + "</text>"
}

// classes returns the attributes of a style: the sixteen colours of terminals are classes, which follow the reader's
// light or dark mode.
func classes(s uv.Style) string {
	var class []string
	fill := ""
	switch c := s.Fg.(type) {
	case nil:
	case ansi.BasicColor:
		class = append(class, fmt.Sprintf("c%d", c%8)) // bright colours are drawn like the others
	default:
		fill = fmt.Sprintf(` fill="%s"`, hex(c))
	}
	for _, a := range []struct {
		bit  uint8
		name string
	}{{uv.AttrBold, "b"}, {uv.AttrFaint, "f"}, {uv.AttrItalic, "i"}} {
		if s.Attrs&a.bit != 0 {
			class = append(class, a.name)
		}
	}
	if len(class) == 0 {
		return strings.TrimSpace(fill)
	}
	return `class="` + strings.Join(class, " ") + `"` + fill
}

func escape(text string) string {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(text)) // a buffer accepts everything
	return strings.NewReplacer("&#34;", `"`, "&#39;", "'").Replace(b.String())
}
