package report

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Frame is the progress of a long operation at one moment.
type Frame struct {
	Text  string // one line
	Bars  []Bar
	Parts []Part
	Last  bool // the operation is done: in a log, Text is the last line
}

// Bar is one progress bar.
type Bar struct {
	Name         string
	Count, Total int
	Note         string // "3 in 31m0s, the last at 14:05:10"
}

// Part is one node or pod that the operation waits for.
type Part struct {
	Name, State, Note string
	Quiet             bool // nothing has happened yet: shown on a terminal, not in a log
}

// Live shows frames. On a terminal each frame replaces the previous one. Elsewhere only changes are written, as lines.
type Live struct {
	W     io.Writer
	TTY   bool
	Width int // columns of the terminal; 0 means 80

	drawn int             // lines of the frame on the screen
	text  bool            // of Draw: it is on the screen
	shown map[string]bool // lines written without a terminal
}

const barWidth = 24

// Show replaces the previous frame, but not the text of Draw.
func (l *Live) Show(f Frame) {
	switch {
	case !l.TTY:
		l.writeChanges(f)
	case !l.text:
		lines := f.lines()
		for i := range lines {
			lines[i] = cut(lines[i], l.width())
		}
		l.draw(lines)
	}
}

// Draw replaces the previous frame or text of a terminal by a text. It wraps long lines. Elsewhere it writes nothing.
func (l *Live) Draw(text string) {
	if !l.TTY {
		return
	}
	var lines []string
	for line := range strings.Lines(text) {
		rest := []rune(strings.TrimSuffix(line, "\n"))
		for ; len(rest) > l.width(); rest = rest[l.width():] {
			lines = append(lines, string(rest[:l.width()]))
		}
		lines = append(lines, string(rest))
	}
	l.text = true
	l.draw(lines)
}

func (l *Live) width() int {
	if l.Width <= 0 {
		return 80
	}
	return l.Width
}

func (l *Live) draw(lines []string) {
	var b strings.Builder
	if l.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", l.drawn)
	}
	for _, line := range lines {
		fmt.Fprintf(&b, "\r\x1b[2K%s\n", line)
	}
	b.WriteString("\x1b[J") // erases the rest of a longer frame
	l.drawn = len(lines)
	_, _ = io.WriteString(l.W, b.String())
}

// Say writes lines that stay, below the current frame. The next frame starts below them.
func (l *Live) Say(text string) {
	l.drawn = 0
	fmt.Fprintln(l.W, text)
}

// Leave keeps the last frame on the screen; later output starts below it.
func (l *Live) Leave() { l.drawn, l.shown = 0, nil }

// writeChanges writes the lines that were not in an earlier frame, without bars.
func (l *Live) writeChanges(f Frame) {
	if l.shown == nil {
		l.shown = map[string]bool{}
	}
	lines := []string{f.Text}
	for _, p := range f.Parts {
		if !p.Quiet {
			lines = append(lines, p.line(0, 0))
		}
	}
	if f.Last {
		lines = append(lines[1:], f.Text)
	}
	for _, line := range lines {
		if line = oneLine(line); line != "" && !l.shown[line] {
			l.shown[line] = true
			fmt.Fprintln(l.W, line)
		}
	}
}

func (f Frame) lines() []string {
	var lines []string
	if f.Text != "" {
		lines = append(lines, oneLine(f.Text))
	}
	name, part, state := 0, 0, 0
	for _, b := range f.Bars {
		name = max(name, utf8.RuneCountInString(b.Name))
	}
	for _, p := range f.Parts {
		part = max(part, utf8.RuneCountInString(p.Name))
		state = max(state, utf8.RuneCountInString(p.State))
	}
	for _, b := range f.Bars {
		lines = append(lines, oneLine(b.line(name)))
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
	bar := strings.Repeat("#", full) + strings.Repeat(".", barWidth-full)
	return strings.TrimRight(fmt.Sprintf("%-*s [%s] %d/%d  %s", name, b.Name, bar, b.Count, b.Total, b.Note), " ")
}

func (p Part) line(name, state int) string {
	return strings.TrimRight(fmt.Sprintf("%-*s  %-*s  %s", name, p.Name, state, p.State, p.Note), " ")
}

// cut keeps a line on one row of the terminal: the next frame would not erase a wrapped line.
func cut(line string, width int) string {
	if utf8.RuneCountInString(line) < width {
		return line
	}
	return string([]rune(line)[:max(0, width-2)]) + "…"
}
