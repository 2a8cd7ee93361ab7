package launch

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"sync"
	"unicode/utf8"
)

// maxLine is the number of bytes after which a line is written in pieces.
const maxLine = 64 << 10

// console writes the lines of many ranks without mixing them.
type console struct {
	mu       sync.Mutex
	out, err output
	broken   chan struct{} // closed when a write failed
}

// output is stdout or stderr.
type output struct {
	w      io.Writer
	closed bool // a write failed
}

// NewConsole returns a console that writes whole lines to out and err.
func NewConsole(out, err io.Writer) *console {
	return &console{out: output{w: out}, err: output{w: err}, broken: make(chan struct{})}
}

// write does not return errors: a rank must not block on output that is closed.
func (s *console) write(to *output, p []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if to.closed || len(p) == 0 {
		return
	}
	if _, err := to.w.Write(p); err != nil {
		if to.closed = true; !s.out.closed || !s.err.closed { // only once
			close(s.broken)
		}
	}
}

// say writes a message between the lines.
func (s *console) say(format string, args ...any) {
	s.write(&s.err, fmt.Appendf(nil, format+"\n", args...))
}

// lineWriter writes the rank before every line. A carriage return also ends a line, as in progress bars.
type lineWriter struct {
	screen         *console
	to             *output
	prefix, suffix string
	observe        func(line []byte) // may be nil

	mu       sync.Mutex
	limit    int    // bytes
	partial  []byte // the line so far
	returned bool   // the last line ended with a carriage return
	closed   bool
}

func newLineWriter(s *console, to *output, rank int, color bool, see func([]byte)) *lineWriter {
	l := &lineWriter{screen: s, to: to, prefix: fmt.Sprintf("[%d] ", rank), observe: see, limit: maxLine}
	if color {
		colors := []int{36, 33, 32, 35, 34, 31} // neighbours differ
		l.prefix = fmt.Sprintf("\x1b[%dm[%d]\x1b[0m ", colors[rank%len(colors)], rank)
		l.suffix = "\x1b[0m"
	}
	return l
}

// Write implements io.Writer.
func (l *lineWriter) Write(p []byte) (int, error) {
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
		if room := l.limit - len(l.partial); len(text) > room {
			l.partial = append(l.partial, text[:room]...)
			p = p[room:]
			out = l.flush(out)
			continue
		}
		l.partial = append(l.partial, text...)
		if end < 0 {
			break
		}
		out = l.endLine(out, p[end] == '\r')
		p = p[end+1:]
	}
	l.screen.write(l.to, out)
	return written, nil
}

// endLine completes a line. CR LF ends one line.
func (l *lineWriter) endLine(out []byte, byReturn bool) []byte {
	empty := len(l.partial) == 0
	if !empty || !byReturn && !l.returned {
		out = l.appendLine(out, l.partial)
	}
	l.partial, l.returned = l.partial[:0], byReturn
	return out
}

// flush writes a piece of a long line without cutting a character.
func (l *lineWriter) flush(out []byte) []byte {
	at := len(l.partial)
	for back := 1; back < utf8.UTFMax && back < at; back++ {
		if utf8.RuneStart(l.partial[at-back]) {
			if !utf8.FullRune(l.partial[at-back:]) {
				at -= back
			}
			break
		}
	}
	out = l.appendLine(out, l.partial[:at])
	l.partial = append(l.partial[:0], l.partial[at:]...)
	return out
}

func (l *lineWriter) appendLine(out, text []byte) []byte {
	if l.observe != nil {
		l.observe(text)
	}
	out = append(out, l.prefix...)
	out = append(out, text...)
	if l.suffix != "" && bytes.IndexByte(text, '\x1b') >= 0 {
		out = append(out, l.suffix...) // reset a colour that is still on
	}
	return append(out, '\n')
}

// Close writes the rest of a line. Later writes are ignored.
func (l *lineWriter) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.partial) > 0 && !l.closed {
		l.screen.write(l.to, l.appendLine(nil, l.partial))
	}
	l.partial, l.closed = nil, true
}

// lastLines keeps the last lines of a stream.
type lastLines struct {
	mu   sync.Mutex
	kept []string
}

// Enough for the end of a Python traceback.
const (
	keptLines = 15
	keptWidth = 400
)

func (t *lastLines) add(line []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, string(line[:min(len(line), keptWidth)]))
	t.kept = t.kept[max(0, len(t.kept)-keptLines):]
}

// lines returns the lines, oldest first.
func (t *lastLines) lines() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.kept)
}
