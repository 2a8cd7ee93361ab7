package nccllog

import (
	"bytes"
	"fmt"
	"iter"

	"github.com/railhead/railhead/internal/lines"
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

// Batch are lines that were read together. It is valid during the call that it is given to.
type Batch struct {
	taker *taker
	block *block
}

// All gives the lines, each with its number, from 1. A line is valid until the next one. It has no line end, no escape
// sequences of terminals and no NUL bytes. Of what a carriage return overwrote, only what has an anchor is given.
func (b Batch) All() iter.Seq2[int, []byte] {
	return func(yield func(int, []byte) bool) {
		for i := range b.block.spans {
			s := &b.block.spans[i]
			if number := b.taker.number(b.block, s); number > 0 && !yield(number, b.taker.line(b.block, s)) {
				return
			}
		}
	}
}

// Take takes the lines of a batch of a file into account.
func (p *Parser) Take(file string, b Batch) {
	for i := range b.block.spans {
		s := &b.block.spans[i]
		number := b.taker.number(b.block, s)
		if number == 0 {
			continue
		}
		at, line := Place{File: file, Line: number}, b.taker.line(b.block, s)
		if s.way == nil || !p.goesOver(at, line, int(s.said), s.way) {
			p.Line(at, line)
		}
	}
}

// number is the number of a line, from 1; 0: it is not to be given.
func (t *taker) number(b *block, s *span) int {
	number := t.ends + int(s.line) + 1
	switch {
	case s.why == matter:
		t.until = number + linesAfter
	case s.why == follows && number > t.until && int(s.line) >= b.first:
		return 0
	}
	t.given++
	return number
}

// line is the text of a line.
func (t *taker) line(b *block, s *span) []byte {
	line := b.data[s.from:s.to]
	if s.dirty {
		t.clean = cleaned(t.clean[:0], line)
		return t.clean
	}
	return line
}

// count counts the lines of a block.
func (t *taker) count(b *block) {
	t.tooLong(b)
	t.ends += b.ends
	t.open = b.end > 0 && b.data[b.end-1] != '\n'
}

// tooLong counts lines that are too long to be given whole.
func (t *taker) tooLong(b *block) {
	where, n := b.where, b.cut
	if n > 0 && where == 0 && b.repeated > 0 {
		n-- // counted when it began
	}
	if begins := b.repeated == 0 || b.ends > 0; b.unfinished && begins && (b.cut == 0 || b.newly != b.ends) {
		if n == 0 {
			where = b.ends
		}
		n++
	}
	if n > 0 && t.long == 0 {
		t.first = t.ends + where + 1
	}
	t.long += n
}

func (t *taker) lines() int {
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
		return []Skipped{{t.first, fmt.Sprintf("the line is longer than %d bytes: only what stands around NCCL's "+
			"words was read", maxLine)}}
	}
	return []Skipped{{t.first, fmt.Sprintf("%d lines are longer than %d bytes: only what stands around NCCL's "+
		"words was read", t.long, maxLine)}}
}

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

// sequence returns the length of the escape sequence that the text begins with (ECMA-48, 5.3 to 5.6).
func sequence(text []byte) int {
	const most = 256
	text = text[:min(len(text), most)]
	if len(text) < 2 {
		return len(text)
	}
	switch kind := text[1]; {
	case kind == '[':
		return controlSequence(text)
	case kind == ']':
		return stringSequence(text)
	case kind >= 0x20 && kind <= 0x2f: // one more byte
		return min(3, len(text))
	case kind < 0x20 || kind > 0x7e:
		return 1
	}
	return 2
}

// controlSequence has parameters, and a final byte.
func controlSequence(text []byte) int {
	for i := 2; i < len(text); i++ {
		switch c := text[i]; {
		case c >= 0x40 && c <= 0x7e:
			return i + 1
		case c < 0x20 || c > 0x7e:
			return i
		}
	}
	return len(text)
}

// stringSequence has a string, as the title of a window.
func stringSequence(text []byte) int {
	for i := 2; i < len(text); i++ {
		switch text[i] {
		case '\a':
			return i + 1
		case lines.Escape:
			return min(i+2, len(text))
		}
	}
	return 2
}
