package nccllog

import (
	"errors"
	"io"
	"runtime"
	"sync"

	"github.com/railhead/railhead/internal/lines"
)

// Reading describes an input after it was read.
type Reading struct {
	Bytes   int64  // as they came
	Lines   int    // after decoding
	Format  string // decoded: "gzip", "UTF-16", "zstd, UTF-16"; "" for plain text
	Skipped []Skipped
}

// Skipped is a part of an input that was not read, with the reason.
type Skipped struct {
	Line   int // the first one that it is about, from 1; 0: no line
	Reason string
}

// Lines reads a log and gives the lines that may say something: the first ones, those with an anchor, and a few after
// one with an anchor that is not of NCCL's level INFO. The rest is passed over nearly as fast as memory gives it.
// Lines come in their order, those that were read together in one batch, while the log is read. The calls come from
// several goroutines, one after the other.
//
// gzip, zstd and UTF-16 are decoded. What cannot be read as text, or is cut off, is said in Reading. An error is one
// of in, and what came before it was given.
func Lines(in io.Reader, take func(Batch)) (Reading, error) {
	r := reader{words: anchors(), take: take, in: lines.NewInput(in), first: FirstLines, last: make(chan struct{})}
	close(r.last)
	return r.run()
}

// anchors is made once, as it is always the same.
var anchors = sync.OnceValue(func() *screen {
	return newScreen(append(Anchors(), "N\x00C\x00C\x00L")) // UTF-16 that a shell appended to another encoding
})

// Read reads a log into the parser. Evidence calls it by the name.
func (p *Parser) Read(name string, in io.Reader) (Reading, error) {
	reading, err := Lines(in, func(b Batch) { p.Take(name, b) })
	p.End(Place{File: name, Line: reading.Lines})
	return reading, err
}

// reader is one reading. Several goroutines take turns: each reads a block, searches it while it is in its core's
// cache, and gives its lines when those of the block before were taken. The first one is the caller's, which a short
// log needs only.
type reader struct {
	words *screen
	take  func(Batch)
	taker taker // of whose turn it is to give

	others sync.WaitGroup
	turn   sync.Mutex // to read
	in     *lines.Input
	hired  int    // of the others
	rest   []byte // the next block begins with it
	again  int    // so much of rest was searched as well
	first  int    // lines that are still given without an anchor
	last   chan struct{}
	err    error
	ended  bool
}

// mostOthers limits the goroutines that help: with the first one there is one for each core. One more would wait for
// its turn most of the time, and waking it costs more than it does.
func mostOthers() int { return min(runtime.GOMAXPROCS(0), 4) - 1 }

// blocks are reused: a folder may have thousands of small files.
var blocks = sync.Pool{New: func() any { return &block{data: make([]byte, room), ways: &ways{}} }}

func (r *reader) run() (Reading, error) {
	r.work()
	r.others.Wait()
	reading := Reading{Bytes: r.in.Bytes(), Lines: r.taker.lines(), Format: r.in.Format()}
	reading.Skipped = r.taker.skipped()
	for _, reason := range r.in.Skipped(r.taker.given > 0) {
		reading.Skipped = append(reading.Skipped, Skipped{Reason: reason})
	}
	return reading, r.err
}

// work reads blocks, searches them and gives their lines, until there are no more.
func (r *reader) work() {
	b := blocks.Get().(*block)
	defer blocks.Put(b)
	for r.next(b) {
		b.search(r.words)
		r.give(b)
	}
}

// next reads a block. It returns false at the end.
func (r *reader) next(b *block) bool {
	r.turn.Lock()
	defer r.turn.Unlock()
	if r.ended {
		return false
	}
	b.reset()
	r.fill(b)
	r.rest, r.again = append(r.rest[:0], b.data[b.keep:b.filled]...), b.end-b.keep
	b.doubt, b.first = r.in.Doubtful(), r.first
	if r.first > 0 {
		r.first = max(0, r.first-b.newlines())
	}
	b.before, b.taken = r.last, make(chan struct{})
	r.last = b.taken
	if !r.ended && r.in.Bytes() > blockSize && r.hired < mostOthers() {
		r.hired++
		r.others.Go(r.work)
	}
	return true
}

// fill reads until the block may end, which is where a line does, unless one is too long for that, or at the end of
// the input.
func (r *reader) fill(b *block) {
	b.filled, b.repeated = copy(b.data, r.rest), r.again
	for !r.ended {
		n, err := r.in.Read(b.data[b.filled : b.filled+blockSize])
		b.filled += n
		switch {
		case err != nil:
			b.finish()
			r.ended = true
			if !errors.Is(err, io.EOF) {
				r.err = err
			}
		case b.complete():
			return
		}
	}
}

// give gives the lines of a block in its turn.
func (r *reader) give(b *block) {
	<-b.before
	defer close(b.taken) // the others shall end even where take panics
	if len(b.spans) > 0 {
		r.take(Batch{&r.taker, b})
	}
	r.taker.count(b)
}
