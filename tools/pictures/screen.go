package main

import (
	"image/color"
	"io"
	"strings"
	"time"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/vt"
)

// mostRows is the height of the terminal.
const mostRows = 3000

// screen is a terminal that remembers when each row appeared.
type screen struct {
	terminal *vt.Emulator
	columns  int
	now      time.Duration
	shown    []time.Duration // when the cursor reached each row
	typed    map[int]int     // length of the command lines, by row
}

func newScreen(columns int) *screen {
	s := &screen{terminal: vt.NewEmulator(columns, mostRows), columns: columns, typed: map[int]int{}}
	go func() { _, _ = io.Copy(io.Discard, s.terminal) }() // its answers to programs that ask what it can do
	return s
}

func (s *screen) pause(d time.Duration) { s.now += d }

func (s *screen) write(text string) {
	_, _ = s.terminal.WriteString(text) // an emulator accepts everything
	for y := s.terminal.CursorPosition().Y; len(s.shown) <= y; {
		s.shown = append(s.shown, s.now)
	}
}

// command shows a command line as it is typed.
func (s *screen) command(line string) {
	s.pause(typed)
	s.typed[s.terminal.CursorPosition().Y] = len(line) + 2
	s.write("\x1b[1;32m$\x1b[m \x1b[1m" + line + "\x1b[m")
	s.pause(time.Duration(len(line))*typing + typed)
	s.write("\r\n")
}

// span is text of one style.
type span struct {
	text  string
	style uv.Style
}

// row is a line of the terminal.
type row struct {
	spans []span
	at    time.Duration // when it appears
	typed int           // its length, if it is a command line
}

func (r row) text() string {
	var b strings.Builder
	for _, s := range r.spans {
		b.WriteString(s.text)
	}
	return b.String()
}

// rows returns what the terminal shows, without empty rows at its end.
func (s *screen) rows() []row {
	var all []row
	last := 0
	for y, at := range s.shown {
		r := row{at: at, typed: s.typed[y], spans: s.spans(y)}
		all = append(all, r)
		if len(r.spans) > 0 {
			last = len(all)
		}
	}
	return all[:last]
}

// spans returns the text of a row without blanks at its end.
func (s *screen) spans(y int) []span {
	var all []span
	for x := 0; x < s.columns; {
		c := s.terminal.CellAt(x, y)
		if c == nil {
			break
		}
		if n := len(all); n > 0 && all[n-1].style.Equal(&c.Style) {
			all[n-1].text += c.Content
		} else {
			all = append(all, span{c.Content, c.Style})
		}
		x += max(c.Width, 1)
	}
	for n := len(all); n > 0; n-- {
		all[n-1].text = strings.TrimRight(all[n-1].text, " ")
		if all[n-1].text != "" {
			return all[:n]
		}
	}
	return nil
}

// hex returns a colour as SVG writes it.
func hex(c color.Color) string {
	r, g, b, _ := c.RGBA()
	const digits = "0123456789abcdef"
	out := []byte("#")
	for _, v := range []uint32{r, g, b} {
		out = append(out, digits[v>>12], digits[v>>8&15])
	}
	return string(out)
}
