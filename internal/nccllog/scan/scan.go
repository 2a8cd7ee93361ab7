package scan

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"runtime"
	"sync"

	"github.com/railhead/railhead/internal/lines"
	"github.com/railhead/railhead/internal/wordsearch"
)

// Reading describes an input after it was read.
type Reading struct {
	Lines   int    // after decoding
	Tail    []byte // the last lines, of the first of them perhaps the end alone
	Skipped []Skipped
}

// Skipped is a part of an input that was not read, with the reason.
type Skipped struct {
	Line   int // the first one concerned, from 1; 0: no line
	Reason string
}

// FirstLines is the number of lines of every input that are always passed on: they show a training log in which NCCL
// prints nothing.
const FirstLines = 200

// Lines reads a log and passes on the lines that may hold a fact: the first ones, those with an anchor, which is one of
// the words, and a few after a line with an anchor that is not of NCCL's level INFO. It skips the rest nearly as fast
// as memory delivers it.
//
// Lines come in order and while the log is read, in batches. The calls of take come from several goroutines, one after
// the other.
//
// It decodes gzip, zstd and UTF-16; Reading has the parts that are not text or are cut off. An error is one of in:
// take got the lines before it.
func Lines(in io.Reader, words *wordsearch.Set, take func(Batch)) (Reading, error) {
	r := reader{words: words, take: take, in: lines.NewInput(in), first: FirstLines,
		room: make(chan struct{}, mostBlocks)}
	r.work()
	r.others.Wait()
	for _, b := range r.used {
		blocks.Put(b)
	}
	reading := Reading{Lines: r.done.ends, Tail: r.tail, Skipped: r.done.skipped()}
	if r.done.open {
		reading.Lines++
	}
	for _, reason := range r.in.Skipped(r.done.given) {
		reading.Skipped = append(reading.Skipped, Skipped{Reason: reason})
	}
	return reading, r.err
}

// reader reads one input. Several goroutines take turns: each reads a block, and searches it while it is in its core's
// cache. Blocks are passed on in their order, by the goroutine that completes the first of them: none waits for another
// one that is slower. The first goroutine is the caller's; a short log needs no other.
type reader struct {
	words  *wordsearch.Set
	others sync.WaitGroup
	room   chan struct{} // has an element for each block that was read and not passed on

	turn    sync.Mutex // guards what follows, of the goroutine that reads
	in      *lines.Input
	read    int    // blocks
	started int    // of the others
	rest    []byte // the beginning of the next block
	again   int    // length of the part of rest that was already searched
	tail    Tail
	first   int // lines left that are passed on without an anchor
	err     error
	ended   bool

	order    sync.Mutex // guards what follows
	searched [mostBlocks]*block
	passed   int // blocks
	passing  bool
	used     []*block

	take func(Batch)
	done progress // of the goroutine that passes lines on
}

// mostBlocks limits the blocks that were read and not passed on.
const mostBlocks = 8

// mostOthers limits the goroutines that help: one for each core with the first one. One more would mostly wait for its
// turn, and waking it would cost more than it does.
func mostOthers() int { return min(runtime.GOMAXPROCS(0), mostBlocks/2) - 1 }

// blocks are reused: a folder may have thousands of small files.
var blocks = sync.Pool{New: func() any { return &block{data: make([]byte, room), ways: &ways{}} }}

// work reads blocks, searches them and passes their lines on, until there are no more.
func (r *reader) work() {
	for {
		r.room <- struct{}{}
		b := r.next()
		if b == nil {
			<-r.room
			return
		}
		b.search(r.words)
		r.pass(b)
	}
}

// next reads a block. It returns nil at the end.
func (r *reader) next() *block {
	r.turn.Lock()
	defer r.turn.Unlock()
	if r.ended {
		return nil
	}
	b := r.unused()
	*b = block{data: b.data, spans: b.spans[:0], ways: b.ways, number: r.read}
	r.read++
	r.fill(b)
	r.rest, r.again = append(r.rest[:0], b.data[b.keep:b.filled]...), b.end-b.keep
	r.tail.Add(b.data[b.repeated:b.end], tailOfFile)
	b.doubt, b.first = r.in.Doubtful(), r.first
	if r.first > 0 {
		r.first = max(0, r.first-b.newlines(0))
	}
	if !r.ended && r.in.Bytes() > blockSize && r.started < mostOthers() {
		r.started++
		r.others.Go(r.work)
	}
	return b
}

// unused returns the block that was passed on last, of those that were: a core's cache may still have it.
func (r *reader) unused() *block {
	r.order.Lock()
	defer r.order.Unlock()
	if last := len(r.used) - 1; last >= 0 {
		b := r.used[last]
		r.used = r.used[:last]
		return b
	}
	return blocks.Get().(*block)
}

// fill reads until a block can end: at the end of a line, unless one is too long, or of the input.
func (r *reader) fill(b *block) {
	b.filled, b.repeated = copy(b.data, r.rest), r.again
	for !r.ended {
		n, err := r.in.Read(b.data[b.filled : b.filled+blockSize])
		b.filled += n
		switch {
		case err != nil:
			b.end, b.keep, r.ended = b.filled, b.filled, true
			if !errors.Is(err, io.EOF) {
				r.err = err
			}
		case b.complete():
			return
		}
	}
}

// pass passes on the lines of a block, and of those after it that wait for it, unless another goroutine does so now or
// will.
func (r *reader) pass(b *block) {
	for b = r.enqueue(b); b != nil; b = r.release(b) {
		if len(b.spans) > 0 {
			r.take(Batch{&r.done, b})
		}
		r.done.add(b)
		<-r.room
	}
}

// enqueue keeps a block until its turn, and returns the one to pass on now, or nil.
func (r *reader) enqueue(b *block) *block {
	r.order.Lock()
	defer r.order.Unlock()
	r.searched[b.number%mostBlocks] = b
	if r.passing {
		return nil
	}
	return r.inOrder()
}

// release takes back a block that was passed on, and returns the one after it, or nil if that is not searched yet.
func (r *reader) release(b *block) *block {
	r.order.Lock()
	defer r.order.Unlock()
	r.used = append(r.used, b)
	r.passed++
	return r.inOrder()
}

func (r *reader) inOrder() *block {
	at := r.passed % mostBlocks
	b := r.searched[at]
	r.searched[at], r.passing = nil, b != nil
	return b
}

// Batch is some lines that were read together. It is valid during the call of take.
type Batch struct {
	done  *progress
	block *block
}

// Line is a line of a log. It has no line end, no escape sequences of terminals and no NUL bytes; of the text that a
// carriage return overwrote, only the parts with a word are left.
type Line struct {
	Number int // from 1
	Text   []byte
	Way    *Way // of a channel, if the line is one and nothing else; nil if that is not known
	Said   int  // index of NCCL's own text, after its level, if Way is known
	More   int  // lines of the same process with the same Way, among the channels right after this one
}

// All returns the lines.
func (b Batch) All() iter.Seq[Line] {
	return func(yield func(Line) bool) {
		for i := range b.block.spans {
			s := &b.block.spans[i]
			number := b.done.number(b.block, s)
			if number > 0 && !yield(Line{number, b.done.line(b.block, s), s.way, int(s.text), int(s.more)}) {
				return
			}
		}
	}
}

// progress numbers the lines of blocks in their order.
type progress struct {
	ends  int  // of lines, in the blocks before
	open  bool // the last line has no end
	until int  // lines up to this number may continue one that was passed on
	given bool // a line was passed on
	clean []byte
	long  int // lines that are passed on in parts
	first int // number of the first of them
}

// number returns the number of a line, from 1; 0 if it is not passed on.
func (d *progress) number(b *block, s *span) int {
	number := d.ends + int(s.line) + 1
	switch {
	case s.why == matter:
		d.until = number + LinesAfter
	case s.why == follows && number > d.until && int(s.line) >= b.first:
		return 0
	}
	d.given = true
	return number
}

// line returns the text of a line.
func (d *progress) line(b *block, s *span) []byte {
	line := b.data[s.from:s.to]
	if s.dirty {
		d.clean = lines.Clean(d.clean[:0], line)
		return d.clean
	}
	return line
}

// add counts the lines of a block that was passed on.
func (d *progress) add(b *block) {
	first, n := b.firstLong, b.long
	if n > 0 && first == 0 && b.repeated > 0 {
		n-- // counted in the block in which it begins
	}
	if begins := b.repeated == 0 || b.ends > 0; b.unfinished && begins && (b.long == 0 || b.lastLong != b.ends) {
		if n == 0 {
			first = b.ends
		}
		n++
	}
	if n > 0 && d.long == 0 {
		d.first = d.ends + first + 1
	}
	d.long += n
	d.ends += b.ends
	d.open = b.end > 0 && b.data[b.end-1] != '\n'
}

func (d *progress) skipped() []Skipped {
	lines := "the line is"
	switch {
	case d.long == 0:
		return nil
	case d.long > 1:
		lines = fmt.Sprintf("%d lines are", d.long)
	}
	return []Skipped{{d.first, fmt.Sprintf("%s longer than %d bytes; only the parts around NCCL's messages were read",
		lines, maxLine)}}
}
