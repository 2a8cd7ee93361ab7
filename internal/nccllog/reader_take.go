package nccllog

import (
	"bytes"
	"fmt"
	"iter"
)

// taker gives the lines of blocks in their order.
type taker struct {
	ends  int // of lines, in the blocks before
	open  bool
	until int // lines up to this number belong to one that was given
	given int
	clean []byte
	long  int // lines that were cut
	first int // the first of them
}

// lines gives the lines of a block.
func (t *taker) lines(b *block) iter.Seq2[int, []byte] {
	return func(yield func(int, []byte) bool) {
		for i := range b.spans {
			s := &b.spans[i]
			number := t.ends + int(s.line) + 1
			switch {
			case s.why == matter:
				t.until = number + linesAfter
			case s.why == follows && number > t.until && int(s.line) >= b.first:
				continue
			}
			line := b.data[s.from:s.to]
			if s.dirty {
				t.clean = cleaned(t.clean[:0], line)
				line = t.clean
			}
			t.given++
			if !yield(number, line) {
				return
			}
		}
	}
}

// count counts the lines of a block.
func (t *taker) count(b *block) {
	t.tooLong(b)
	t.ends += b.ends
	t.open = b.end > 0 && b.data[b.end-1] != '\n'
}

// tooLong counts lines that are too long to be given whole.
func (t *taker) tooLong(b *block) {
	where, n := t.ends+b.where+1, b.cut
	if b.unfinished && b.repeated == 0 {
		if n == 0 {
			where = t.ends + b.ends + 1
		}
		n = max(n, 1)
	}
	if b.repeated > 0 && n > 0 && b.where == 0 {
		n-- // counted when it began
	}
	if n > 0 && t.long == 0 {
		t.first = where
	}
	t.long += n
}

// number is how many lines there were; the last one may have no end.
func (t *taker) number() int {
	if t.open {
		return t.ends + 1
	}
	return t.ends
}

func (t *taker) skipped() []Skipped {
	switch t.long {
	case 0:
		return nil
	case 1:
		return []Skipped{{t.first, fmt.Sprintf("the line is longer than %d bytes: only what stands around NCCL's words was read", maxLine)}}
	}
	return []Skipped{{t.first, fmt.Sprintf("%d lines are longer than %d bytes: only what stands around NCCL's words was read", t.long, maxLine)}}
}

const escape = 0x1b

// cleaned appends the text without escape sequences of terminals and without NUL bytes.
func cleaned(to, text []byte) []byte {
	for len(text) > 0 {
		i := bytes.IndexAny(text, "\x1b\x00")
		if i < 0 {
			return append(to, text...)
		}
		to = append(to, text[:i]...)
		text = text[i:]
		if text[0] == 0 {
			text = bytes.TrimLeft(text, "\x00")
			continue
		}
		text = text[sequence(text):]
	}
	return to
}

// sequence is how long the escape sequence is that the text begins with (ECMA-48, 5.3 to 5.6).
func sequence(text []byte) int {
	const most = 256
	text = text[:min(len(text), most)]
	if len(text) < 2 {
		return len(text)
	}
	switch kind := text[1]; {
	case kind == '[': // parameters, and a final byte
		for i := 2; i < len(text); i++ {
			if c := text[i]; c >= 0x40 && c <= 0x7e {
				return i + 1
			} else if c < 0x20 || c > 0x7e {
				return i
			}
		}
		return len(text)
	case kind == ']': // a string, as the title of a window
		for i := 2; i < len(text); i++ {
			if text[i] == '\a' {
				return i + 1
			} else if text[i] == escape {
				return min(i+2, len(text))
			}
		}
		return 2
	case kind >= 0x20 && kind <= 0x2f: // one more byte
		return min(3, len(text))
	case kind < 0x20 || kind > 0x7e:
		return 1
	}
	return 2
}
