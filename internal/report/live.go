package report

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Frame is what a long piece of work shows at one moment.
type Frame struct {
	Text  string // one line: how far it is
	Bars  []Bar
	Parts []Part
}

// Bar is one progress bar.
type Bar struct {
	Name         string
	Count, Total int
	Note         string // "about 40 min left"
}

// Part is one node or pod that is waited for.
type Part struct {
	Name, State, Note string
	Quiet             bool // nothing has happened to it: worth a place on a screen, not a line in a log
}

// Live shows frames: on a terminal each in place of the one before; elsewhere only what changed, as plain lines that
// read well in a CI log. The zero value of Width means 80 columns.
type Live struct {
	W     io.Writer
	TTY   bool
	Width int

	drawn int // lines of the frame on the screen
	said  map[string]bool
}

const barWidth = 24

// Show puts a frame in place of the one before.
func (l *Live) Show(f Frame) {
	if !l.TTY {
		l.sayChanges(f)
		return
	}
	lines := f.lines()
	var b strings.Builder
	if l.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", l.drawn)
	}
	for _, line := range lines {
		fmt.Fprintf(&b, "\r\x1b[2K%s\n", cut(line, l.width()))
	}
	b.WriteString("\x1b[J") // a shorter frame leaves nothing of the longer one
	l.drawn = len(lines)
	_, _ = io.WriteString(l.W, b.String())
}

// Say writes lines that stay: on a terminal below the frame that is shown, and the next one begins below them.
func (l *Live) Say(text string) {
	l.drawn = 0
	fmt.Fprintln(l.W, text)
}

// Leave ends the frames: what was shown stays, and what comes next begins below it.
func (l *Live) Leave() { l.drawn, l.said = 0, nil }

func (l *Live) width() int {
	if l.Width <= 0 {
		return 80
	}
	return l.Width
}

// sayChanges writes the lines that were not in an earlier frame; bars are drawn for the eye only.
func (l *Live) sayChanges(f Frame) {
	if l.said == nil {
		l.said = map[string]bool{}
	}
	lines := []string{}
	if f.Text != "" {
		lines = append(lines, f.Text)
	}
	for _, p := range f.Parts {
		if !p.Quiet {
			lines = append(lines, p.line(0, 0))
		}
	}
	for _, line := range lines {
		if line = oneLine(line); !l.said[line] {
			l.said[line] = true
			fmt.Fprintln(l.W, line)
		}
	}
}

func (f Frame) lines() []string {
	var lines []string
	if f.Text != "" {
		lines = append(lines, oneLine(f.Text))
	}
	name := 0
	for _, b := range f.Bars {
		name = max(name, utf8.RuneCountInString(b.Name))
	}
	for _, b := range f.Bars {
		lines = append(lines, oneLine(b.line(name)))
	}
	part, state := 0, 0
	for _, p := range f.Parts {
		part, state = max(part, utf8.RuneCountInString(p.Name)), max(state, utf8.RuneCountInString(p.State))
	}
	for _, p := range f.Parts {
		lines = append(lines, oneLine("  "+p.line(part, state)))
	}
	return lines
}

func (b Bar) line(name int) string {
	full := 0
	if b.Total > 0 {
		full = min(barWidth, barWidth*b.Count/b.Total)
	}
	line := fmt.Sprintf("%-*s [%s%s] %d/%d", name, b.Name, strings.Repeat("#", full), strings.Repeat(".", barWidth-full), b.Count, b.Total)
	if b.Note != "" {
		line += "  " + b.Note
	}
	return line
}

func (p Part) line(name, state int) string {
	return strings.TrimRight(fmt.Sprintf("%-*s  %-*s  %s", name, p.Name, state, p.State, p.Note), " ")
}

// cut keeps a line on one row of the terminal: a wrapped one would be left behind by the next frame.
func cut(line string, width int) string {
	if utf8.RuneCountInString(line) < width {
		return line
	}
	return string([]rune(line)[:max(0, width-2)]) + "…"
}
