package cli

import (
	"bytes"
	"fmt"
	"io"
	"sync"
	"unicode/utf8"
)

// maxLine is the longest piece of a line that is held back for its end; what is longer comes in pieces.
const maxLine = 64 << 10

// screen is where the lines of many ranks come together, each whole.
type screen struct {
	mu       sync.Mutex
	out, err output
	broken   chan struct{} // closed when nobody reads one of them any more
}

// output is stdout or stderr.
type output struct {
	w    io.Writer
	gone bool // nobody reads it any more
}

func newScreen(out, err io.Writer) *screen {
	return &screen{out: output{w: out}, err: output{w: err}, broken: make(chan struct{})}
}

// write never fails for those who write: a rank whose output nobody reads must not hang on it.
func (s *screen) write(to *output, p []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if to.gone || len(p) == 0 {
		return
	}
	if _, err := to.w.Write(p); err != nil {
		if to.gone = true; !s.out.gone || !s.err.gone { // the first of the two
			close(s.broken)
		}
	}
}

// say writes talk between the lines.
func (s *screen) say(format string, args ...any) {
	s.write(&s.err, fmt.Appendf(nil, format+"\n", args...))
}

// lines puts a rank in front of every line that is written to it. A carriage return ends a line, too: progress bars.
type lines struct {
	screen      *screen
	to          *output
	front, back string
	see         func(line []byte) // told of every line; nil: nobody is

	mu       sync.Mutex
	most     int    // bytes of a piece
	part     []byte // the line so far
	returned bool   // it begins after a carriage return
	closed   bool
}

// newLines writes the lines of one rank.
func newLines(s *screen, to *output, rank int, color bool, see func([]byte)) *lines {
	l := &lines{screen: s, to: to, front: fmt.Sprintf("[%d] ", rank), see: see, most: maxLine}
	if color {
		colors := []int{36, 33, 32, 35, 34, 31} // no two neighbours alike
		l.front = fmt.Sprintf("\x1b[%dm[%d]\x1b[0m ", colors[rank%len(colors)], rank)
		l.back = "\x1b[0m"
	}
	return l
}

// Write implements io.Writer.
func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	written := len(p)
	var out []byte
	for len(p) > 0 && !l.closed {
		end := bytes.IndexAny(p, "\r\n")
		text := p
		if end >= 0 {
			text = p[:end]
		}
		if room := l.most - len(l.part); len(text) > room {
			l.part = append(l.part, text[:room]...)
			p = p[room:]
			out = l.cut(out)
			continue
		}
		l.part = append(l.part, text...)
		if end < 0 {
			break
		}
		out = l.end(out, p[end] == '\r')
		p = p[end+1:]
	}
	l.screen.write(l.to, out)
	return written, nil
}

// end completes a line; of a carriage return and a line feed together it makes one.
func (l *lines) end(out []byte, byReturn bool) []byte {
	empty := len(l.part) == 0
	if !empty || !byReturn && !l.returned {
		out = l.line(out, l.part)
	}
	l.part, l.returned = l.part[:0], byReturn
	return out
}

// cut completes a piece of a line that is too long, between two characters.
func (l *lines) cut(out []byte) []byte {
	at := len(l.part)
	for back := 1; back < utf8.UTFMax && back < at; back++ {
		if utf8.RuneStart(l.part[at-back]) {
			if !utf8.FullRune(l.part[at-back:]) {
				at -= back
			}
			break
		}
	}
	out = l.line(out, l.part[:at])
	l.part = append(l.part[:0], l.part[at:]...)
	return out
}

func (l *lines) line(out, text []byte) []byte {
	if l.see != nil {
		l.see(text)
	}
	out = append(out, l.front...)
	out = append(out, text...)
	if l.back != "" && bytes.IndexByte(text, '\x1b') >= 0 {
		out = append(out, l.back...) // a colour that a rank leaves on is its own
	}
	return append(out, '\n')
}

// Close writes what is left of a line; nothing is taken after it.
func (l *lines) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.part) > 0 && !l.closed {
		l.screen.write(l.to, l.line(nil, l.part))
	}
	l.part, l.closed = nil, true
}

// tail keeps the last lines of a stream.
type tail struct {
	mu    sync.Mutex
	kept  []string
	first int // of the ring
}

// What is kept of a stream: enough for the end of a Python traceback.
const (
	tailLines = 15
	tailWidth = 400
)

func (t *tail) see(line []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := string(line[:min(len(line), tailWidth)])
	if len(t.kept) < tailLines {
		t.kept = append(t.kept, text)
		return
	}
	t.kept[t.first] = text
	t.first = (t.first + 1) % tailLines
}

// last returns them, the oldest first.
func (t *tail) last() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append(append([]string{}, t.kept[t.first:]...), t.kept[:t.first]...)
}

// bounded keeps the beginning of what is written to it.
type bounded struct {
	mu    sync.Mutex
	limit int
	kept  []byte
}

// Write implements io.Writer.
func (b *bounded) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.kept = append(b.kept, p[:min(len(p), b.limit-len(b.kept))]...)
	return len(p), nil
}

func (b *bounded) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return string(b.kept)
}
