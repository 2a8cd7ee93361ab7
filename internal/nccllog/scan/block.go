package scan

import (
	"bytes"

	"github.com/railhead/railhead/internal/lines"
	"github.com/railhead/railhead/internal/nccllog/prefix"
	"github.com/railhead/railhead/internal/wordsearch"
)

// A line of up to maxLine bytes is passed on whole. Of a longer one, aroundBefore and aroundAfter bytes of each of its
// anchors are.
const (
	maxLine      = 64 << 10
	aroundBefore = 4 << 10
	aroundAfter  = 32 << 10
)

// blockSize is the size of one read: a block stays in a core's cache while it is searched.
const blockSize = 256 << 10

// room is the size of a block: the rest of the block before, which is an incomplete line or an overlap, and new data.
const room = maxLine + overlap + blockSize

// overlap is the part that two blocks share of a line longer than a block. An anchor counts in the block that has more
// around it.
const overlap = 2 * aroundAfter

// LinesAfter is the number of lines that are kept after a warning or a line of another program, which may continue
// there.
const LinesAfter = 3

type block struct {
	number     int
	data       []byte
	filled     int
	end        int  // of the part to search
	keep       int  // the next block begins here
	repeated   int  // length of the beginning that was already searched
	unfinished bool // the last line continues in the next block
	doubt      bool // the input may be no text
	first      int  // lines that are passed on without an anchor

	ways *ways // nil: channels are read like other lines

	// Results of the search. Lines are counted in this block, from 0.
	spans     []span
	ends      int // of lines
	long      int // lines longer than maxLine, passed on in parts
	firstLong int
	lastLong  int
}

// span is a line, or a part of one, that may be passed on.
type span struct {
	from, to int32
	line     int32
	why      why
	dirty    bool  // has escape sequences or NUL bytes
	text     int16 // index of NCCL's text, if way is known
	way      *Way  // of a channel; nil if unknown
	more     int32 // channels with the same way that the process logged right after it
}

// why is the reason to pass a line on.
type why uint8

const (
	info    why = iota // an anchor, of NCCL's level INFO
	matter             // any other anchor
	follows            // it may continue the line before
)

var infoWords = []byte(prefix.Info)

// complete finds where the block can end. It returns false if more must be read.
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

func (b *block) newlines(from int) int { return bytes.Count(b.data[from:b.end], []byte{'\n'}) }

// search is the search of one block.
type search struct {
	words *wordsearch.Set
	b     *block
	text  []byte
	at    int // beginning of the line
	line  int // its number
	hit   int // the next anchor; -1: none
}

// search finds the lines that may be passed on.
func (b *block) search(words *wordsearch.Set) {
	c := search{words: words, b: b, text: b.data[:b.end]}
	c.hit = words.Find(c.text, b.repeated/2)
	extra := b.first
	if b.repeated == 0 {
		extra = max(extra, LinesAfter) // of a line in the block before
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
			if !c.addParts(end) {
				extra = max(extra, LinesAfter)
			}
		} else if c.at > 0 || b.repeated == 0 {
			shown := overwritten(c.text, c.at, end)
			b.add(shown, min(end, shown+maxLine), c.line, follows)
		}
		c.at = end + 1
		c.line++
	}
	b.ends = c.line
	if c.at <= len(c.text) {
		b.ends += b.newlines(c.at)
	} else {
		b.ends-- // the last line has no end here
	}
}

// skip moves to the line of the next anchor.
func (c *search) skip() {
	passed := c.text[c.at:c.hit]
	c.line += bytes.Count(passed, []byte{'\n'})
	c.at += 1 + bytes.LastIndexByte(passed, '\n')
}

// overwritten returns the index after the last carriage return in a line: a terminal shows only the rest.
func overwritten(text []byte, at, end int) int {
	if end > at && text[end-1] == '\r' {
		end--
	}
	return at + 1 + bytes.LastIndexByte(text[at:end], '\r')
}

// addParts adds the parts of a line with anchors: in most cases the line itself. It reports whether all are of NCCL's
// level INFO.
func (c *search) addParts(end int) bool {
	allInfo, column := true, 0
	limit := len(c.text)
	if c.b.unfinished {
		limit -= overlap / 2 // the next block has more around later anchors
	}
	for from := c.at; c.hit >= 0 && c.hit < end; c.hit = c.after(from, end, column) {
		if end == len(c.text) && c.hit >= limit {
			c.hit = -1
			break
		}
		begin, stop := c.b.part(c.text, from, end, c.hit)
		part, k := c.text[begin:stop], info
		if bytes.HasPrefix(c.text[c.hit:stop], infoWords) {
			column = c.hit - c.at
		} else if !bytes.Contains(part, infoWords) {
			k, allInfo = matter, false
		}
		c.b.add(begin, stop, c.line, k)
		if len(part) < end-c.at && end-c.at > maxLine {
			c.b.addLong(c.line)
		}
		from = stop
	}
	return allInfo
}

// after finds the next anchor from an index on. NCCL mostly logs many lines at a time, and the next one has NCCL's
// name in the same column.
func (c *search) after(from, end, column int) int {
	next := end + 1
	if at := next + column; from == end && column > 0 && at < len(c.text) &&
		bytes.HasPrefix(c.text[at:], infoWords) && bytes.IndexByte(c.text[next:at], '\n') < 0 {
		return at
	}
	return c.words.Find(c.text, from)
}

// part returns the part of a line around an anchor: the text between two carriage returns, and no more than a long
// line may have.
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

// addLong counts a long line once.
func (b *block) addLong(line int) {
	if b.long == 0 {
		b.firstLong = line
	}
	if b.long == 0 || line != b.lastLong {
		b.long, b.lastLong = b.long+1, line
	}
}

// add adds a part of the text, unless it is empty or not text.
func (b *block) add(from, to, line int, k why) {
	part := bytes.TrimSuffix(b.data[from:to], []byte{'\r'})
	if len(part) == 0 || b.doubt && (k == follows || !lines.IsText(part)) {
		return
	}
	b.spans = append(b.spans, span{
		from:  int32(from),
		to:    int32(from + len(part)),
		line:  int32(line),
		why:   k,
		dirty: bytes.IndexByte(part, lines.Escape) >= 0 || bytes.IndexByte(part, 0) >= 0,
	})
}
