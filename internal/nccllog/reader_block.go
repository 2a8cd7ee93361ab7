package nccllog

import (
	"bytes"

	"github.com/railhead/railhead/internal/lines"
)

// A line of up to maxLine bytes is given whole. Of a longer one, what stands around its anchors is given:
// aroundBefore and aroundAfter bytes of each.
const (
	maxLine      = 64 << 10
	aroundBefore = 4 << 10
	aroundAfter  = 32 << 10
)

// blockSize is the size of one read: a block stays in a core's cache while it is searched.
const blockSize = 512 << 10

// room is the size of a block: the rest of the block before, which is an incomplete line or an overlap, and new data.
const room = maxLine + overlap + blockSize

// overlap is the part of a line longer than a block that two blocks share. An anchor counts in the block that has
// more around it.
const overlap = 2 * aroundAfter

// linesAfter is the number of lines that are kept after a warning or a line of another program, which may continue
// there.
const linesAfter = 3

type block struct {
	data       []byte
	filled     int
	end        int  // of the searched part
	keep       int  // from here on, the next block has it as well
	repeated   int  // so much at the beginning was in the block before
	unfinished bool // the last line goes on in the next block
	doubt      bool // the input may be no text
	first      int  // lines that are given without an anchor

	before, taken chan struct{} // closed when the lines of the block before, and those of this one, were taken

	ways *ways

	// What the search finds.
	spans []span
	ends  int // of lines
	cut   int // lines longer than maxLine of which not all is given
	where int // the first such line, counted in this block from 0
	newly int // the last such line
}

// span is a line, or a part of one, that may be given.
type span struct {
	from, to int32
	line     int32 // counted in this block from 0
	why      why
	dirty    bool  // has escape sequences or NUL bytes
	said     int16 // where the words of NCCL begin, where way is known
	way      *way  // of a channel, where it is known
}

// why is the reason that a line may be given for.
type why uint8

const (
	chatter why = iota // of NCCL's level INFO
	matter             // another one with an anchor
	follows            // one without, which may belong to the one before
)

func (b *block) reset() {
	*b = block{data: b.data, spans: b.spans[:0], ways: b.ways}
}

// complete finds where the block may end; false: more must be read for that.
func (b *block) complete() bool {
	line := 1 + bytes.LastIndexByte(b.data[:b.filled], '\n')
	switch {
	case b.filled-line > maxLine+b.repeated:
		b.end, b.keep, b.unfinished = b.filled, b.filled-overlap, true
	case line > 0:
		b.end, b.keep = line, line
	default:
		return false
	}
	return true
}

// finish ends the last block.
func (b *block) finish() { b.end, b.keep = b.filled, b.filled }

func (b *block) newlines() int { return bytes.Count(b.data[:b.end], []byte{'\n'}) }

// scan is the search of one block for lines that may be given.
type scan struct {
	words *screen
	b     *block
	text  []byte
	at    int // the line begins here
	line  int // its number
	hit   int // the next anchor from here on; -1: none
}

// search finds the lines that may be given.
func (b *block) search(words *screen) {
	c := scan{words: words, b: b, text: b.data[:b.end]}
	c.hit = words.find(c.text, b.repeated/2)
	extra := b.first
	if b.repeated == 0 {
		extra = max(extra, linesAfter) // of a line in the block before
	}
	for c.at < len(c.text) && (extra > 0 || c.hit >= 0) {
		if extra == 0 {
			c.skip()
		}
		if n := c.channels(); n > 0 {
			extra = max(extra-n, 0)
			continue
		}
		end := len(c.text)
		if i := bytes.IndexByte(c.text[c.at:], '\n'); i >= 0 {
			end = c.at + i
		}
		extra = max(extra-1, 0)
		if c.hit >= 0 && c.hit < end {
			if !c.hits(end) {
				extra = max(extra, linesAfter)
			}
		} else if c.at > 0 || b.repeated == 0 {
			shown := overwritten(c.text, c.at, end)
			b.add(shown, min(end, shown+maxLine), c.line, follows)
		}
		c.at = end + 1
		c.line++
	}
	b.ends = c.line
	if c.at < len(c.text) {
		b.ends += bytes.Count(c.text[c.at:], []byte{'\n'})
	} else if c.at > len(c.text) {
		b.ends-- // the last line has no end here
	}
}

var infoWords = []byte("NCCL INFO ")

// skip goes on to the line of the next anchor.
func (c *scan) skip() {
	passed := c.text[c.at:c.hit]
	if n := bytes.Count(passed, []byte{'\n'}); n > 0 {
		c.line += n
		c.at += 1 + bytes.LastIndexByte(passed, '\n')
	}
}

// overwritten returns where the text after the last carriage return begins, which is all that a terminal would show.
func overwritten(text []byte, at, end int) int {
	if end > at && text[end-1] == '\r' {
		end--
	}
	return at + 1 + bytes.LastIndexByte(text[at:end], '\r')
}

// hits adds the parts of a line that have anchors: the line itself, in most cases. It reports whether all are of
// NCCL's level INFO.
func (c *scan) hits(end int) bool {
	talk, column := true, 0
	limit := len(c.text)
	if c.b.unfinished {
		limit -= overlap / 2 // the next block has more around those
	}
	for from := c.at; c.hit >= 0 && c.hit < end; c.hit = c.after(from, end, column) {
		if end == len(c.text) && c.hit >= limit {
			c.hit = -1
			break
		}
		begin, stop := c.b.part(c.text, from, end, c.hit)
		part, k := c.text[begin:stop], chatter
		if bytes.HasPrefix(c.text[c.hit:stop], infoWords) {
			column = c.hit - c.at
		} else if !bytes.Contains(part, infoWords) {
			k, talk = matter, false
		}
		c.b.add(begin, stop, c.line, k)
		if len(part) < end-c.at && end-c.at > maxLine {
			c.b.tooLong(c.line)
		}
		from = stop
	}
	return talk
}

// after finds the next anchor from a place on. Lines of NCCL mostly come many at a time, and where one ends, the
// words of the next stand in the same column.
func (c *scan) after(from, end, column int) int {
	next := end + 1
	if at := next + column; from == end && column > 0 && at < len(c.text) &&
		bytes.HasPrefix(c.text[at:], infoWords) && bytes.IndexByte(c.text[next:at], '\n') < 0 {
		return at
	}
	return c.words.find(c.text, from)
}

// part returns the part of a line with an anchor in it: the text between two carriage returns, and not too much of
// that.
func (b *block) part(text []byte, from, end, hit int) (begin, stop int) {
	begin, stop = from, end
	if i := bytes.IndexByte(text[from:end], '\r'); i >= 0 && from+i < end-1 {
		begin = from + 1 + bytes.LastIndexByte(text[from:hit], '\r')
		if i := bytes.IndexByte(text[hit:end], '\r'); i >= 0 {
			stop = hit + i
		}
	}
	if stop-begin > maxLine || b.unfinished && end == len(text) || b.repeated > 0 && begin < b.repeated {
		begin, stop = max(begin, hit-aroundBefore), min(stop, hit+aroundAfter)
	}
	return begin, stop
}

func (b *block) tooLong(line int) {
	if b.cut == 0 {
		b.where = line
	}
	if b.cut == 0 || line != b.newly {
		b.cut, b.newly = b.cut+1, line
	}
}

// add adds a part of the text, unless it is none.
func (b *block) add(from, to, line int, k why) {
	part := b.data[from:to]
	if n := len(part); n > 0 && part[n-1] == '\r' {
		part = part[:n-1]
	}
	dirty := bytes.IndexByte(part, lines.Escape) >= 0 || bytes.IndexByte(part, 0) >= 0
	if len(part) == 0 || b.doubt && (k == follows || !lines.IsText(part)) {
		return
	}
	b.spans = append(b.spans, span{from: int32(from), to: int32(from + len(part)), line: int32(line), why: k,
		dirty: dirty})
}
