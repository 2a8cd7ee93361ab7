package scan

import (
	"bytes"
	"encoding/binary"
	"math/bits"

	"github.com/railhead/railhead/internal/nccllog/find"
	"github.com/railhead/railhead/internal/nccllog/prefix"
)

// ways caches the ways of channels by the ends of their lines: nearly all channels of a log use one of a few. A way
// may be replaced but never changes, because lines that wait refer to it.
type ways [1 << 10]*Way

// find returns the way of a channel by the end of its line, or nil.
func (w *ways) find(end []byte) *Way {
	const shortest, longest = 8, 64
	if len(end) < shortest || len(end) > longest {
		return nil
	}
	place := &w[hashOf(end)%uint64(len(w))]
	if known := *place; known != nil && string(known.Text) == string(end) {
		return known
	}
	if controls(end) || prefix.Segment(end, 0) >= 0 || bytes.IndexByte(end, '\\') >= 0 {
		return nil
	}
	own := WayOf(bytes.Clone(end))
	*place = &own
	return &own
}

// hashOf returns a hash of the last 32 bytes, of at least eight. It has no loop: processors mispredict the end of one
// that reads texts of several lengths.
func hashOf(text []byte) uint64 {
	const odd = 0x9e3779b97f4a7c15
	text = text[max(len(text)-32, 0):]
	last := len(text) - 8
	hash := binary.LittleEndian.Uint64(text)*3 + binary.LittleEndian.Uint64(text[min(8, last):])*5 +
		binary.LittleEndian.Uint64(text[max(last-8, 0):])*7 + binary.LittleEndian.Uint64(text[last:])
	return hash * odd >> 32
}

// channels adds the lines from here on that are channels and nothing else, and returns their number. In a large job
// most lines of NCCL are channels, many in a row, and the channels of one process have few ways.
func (c *search) channels() int {
	const most = 1 << 10 // bytes in front of NCCL's name
	column, from := c.hit-c.at, c.line
	if c.b.ways == nil || c.hit < 0 || column > most || c.b.doubt || c.at < c.b.repeated {
		return 0
	}
	for of := (writer{}); c.channel(column, &of); {
		c.line++
	}
	if n := c.line - from; n > 0 {
		c.hit = c.after(c.at-1, c.at-1, column)
		return n
	}
	return 0
}

// writer identifies the process of consecutive channels.
type writer struct {
	head  []byte // of its lines, up to the ranks
	first int    // span
}

// channel adds the line here if it is a channel, with NCCL's name in a column.
func (c *search) channel(column int, of *writer) bool {
	const channel = "Channel "
	rest, text := c.text[c.at:], column+len(infoWords)
	ranks := text + len(channel)
	if len(rest) < ranks+farthestWay {
		return false
	}
	if of.head == nil || !bytes.Equal(rest[:ranks], of.head) {
		if !find.Begins(rest[column:], prefix.Info) || !find.Begins(rest[text:], channel) || controls(rest[:column]) {
			return false
		}
		*of = writer{rest[:ranks], len(c.b.spans)}
	}
	before := beforeWay((*[farthestWay]byte)(rest[ranks:]))
	if before < 0 {
		return false
	}
	way := rest[ranks+before:]
	end := bytes.IndexByte(way, '\n')
	if end < 0 {
		return false
	}
	w := c.b.ways.find(way[:end])
	if w == nil {
		return false
	}
	next := c.at + ranks + before + end
	if !c.b.again(w, of.first) {
		c.b.spans = append(c.b.spans, span{from: int32(c.at), to: int32(next), line: int32(c.line), text: int16(text),
			way: w})
	}
	c.at = next + 1
	return true
}

// again counts a channel whose way is one of a span from the given one on. It returns false if there is none.
func (b *block) again(w *Way, first int) bool {
	for i := first; i < len(b.spans); i++ {
		if s := &b.spans[i]; s.way == w {
			s.more++
			return true
		}
	}
	return false
}

// farthestWay bounds the bytes from the first word of a channel to its transport.
const farthestWay = 56

// beforeWay returns the length of the part of a channel's line before its transport: "08/1 : 3069[5] -> 3101[5] ".
// This part has only bytes from ' ' to '?', and from 'X' to 'g', where the brackets are. -1: it is something else.
func beforeWay(text *[farthestWay]byte) int {
	arrows := uint64(0)
	for at := 0; at < len(text); at += 8 {
		v := binary.LittleEndian.Uint64(text[at:])
		low := v&(0xe0*ones) ^ ' '*ones                               // 0 in bytes from ' ' to '?'
		high := (v&(0x7f*ones)+('p'-'X')*ones)&(0xf0*ones) ^ 'p'*ones // 0 in those from 'X' to 'g'
		other := (v | notZero(low)&notZero(high)) & tops
		arrow := ^notZero(v^'>'*ones) & tops
		if other == 0 {
			arrows |= arrow
			continue
		}
		arrows |= arrow & (other - 1) // in front of them
		end := at + bits.TrailingZeros64(other)/8
		if end > 0 && text[end-1] == '[' { // of [send]
			end--
		}
		if arrows == 0 || end == 0 || text[end-1] != ' ' {
			return -1
		}
		return end
	}
	return -1
}

// ones has a one in every byte, tops the highest bit.
const (
	ones = 0x0101010101010101
	tops = 0x80 * ones
)

// notZero sets the highest bit of every byte that is not 0.
func notZero(v uint64) uint64 { return v | (v&(0x7f*ones) + 0x7f*ones) }

// controls reports whether a text has bytes below ' '.
func controls(text []byte) bool {
	for ; len(text) >= 8; text = text[8:] {
		if v := binary.LittleEndian.Uint64(text); (v-' '*ones)&^v&tops != 0 {
			return true
		}
	}
	for _, c := range text {
		if c < ' ' {
			return true
		}
	}
	return false
}
