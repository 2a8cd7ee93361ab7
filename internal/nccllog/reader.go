package nccllog

import (
	"errors"
	"io"
	"iter"
	"runtime"
	"sync"

	"golang.org/x/sync/errgroup"
)

// Reading is what became of one input.
type Reading struct {
	Bytes   int64  // as they came
	Lines   int    // after decoding
	Format  string // what was decoded: "gzip", "UTF-16", "zstd, UTF-16"; "" for plain text
	Skipped []Skipped
}

// Skipped is what was not read of an input, and why.
type Skipped struct {
	Line   int // the first one that it is about, from 1; 0: no line
	Reason string
}

// Lines reads a log and gives the lines that may say something: the first ones, those with an anchor, and a few after one
// with an anchor that is not of NCCL's level INFO. The rest is passed over nearly as fast as memory gives it. Lines come in
// their order, numbered from 1, while the log is read; a line is valid during the call only. It has no line end, no escape
// sequences of terminals and no NUL bytes. Of what a carriage return overwrote, only what has an anchor is given.
//
// gzip, zstd and UTF-16 are decoded. What cannot be read as text, or is cut off, is said in Reading. An error is one of in,
// and what came before it was given.
func Lines(in io.Reader, each func(number int, line []byte)) (Reading, error) {
	return Batches(in, func(lines iter.Seq2[int, []byte]) {
		for number, line := range lines {
			each(number, line)
		}
	})
}

// Batches is Lines for those to whom every call costs: it gives together what was read together. All lines of a batch must be
// taken.
func Batches(in io.Reader, take func(lines iter.Seq2[int, []byte])) (Reading, error) {
	return newReader(in, anchors()).run(take)
}

// anchors is made once, as it is always the same.
var anchors = sync.OnceValue(func() *screen {
	return newScreen(append(Anchors(), "N\x00C\x00C\x00L")) // UTF-16 that a shell appended to another encoding
})

// Read reads a log into the parser. The name is what evidence calls it.
func (p *Parser) Read(name string, in io.Reader) (Reading, error) {
	reading, err := Lines(in, func(number int, line []byte) { p.Line(Place{File: name, Line: number}, line) })
	p.End(Place{File: name, Line: reading.Lines})
	return reading, err
}

// reader is one reading. Several goroutines take turns at reading a block, and search it, while it is in their core's cache;
// the caller's takes the lines in their order.
type reader struct {
	words   *screen
	free    chan *block
	ordered chan *block
	stop    chan struct{} // nobody takes lines any more

	turn  sync.Mutex
	in    *input
	made  int    // blocks
	rest  []byte // the next block begins with it
	again int    // so much of rest was searched as well
	first int    // so many lines are still to be given whatever they hold
	ended bool
}

// searchers are how many goroutines search: more than a few wait for the parser.
func searchers() int { return min(runtime.GOMAXPROCS(0), 4) }

func newReader(in io.Reader, words *screen) *reader {
	blocks := 2*searchers() + 2
	return &reader{
		words: words, free: make(chan *block, blocks), ordered: make(chan *block, blocks), stop: make(chan struct{}),
		in: newInput(in), first: FirstLines,
	}
}

func (r *reader) run(take func(lines iter.Seq2[int, []byte])) (Reading, error) {
	var g errgroup.Group
	defer close(r.stop) // where take panics, the others end as well
	for range searchers() {
		g.Go(r.search)
	}
	var t taker
	for b := range r.ordered {
		<-b.searched
		if len(b.spans) > 0 {
			take(t.lines(b))
		}
		t.count(b)
		r.free <- b
	}
	err := g.Wait()
	reading := Reading{Bytes: r.in.raw.bytes, Lines: t.number(), Format: r.in.format()}
	reading.Skipped = append(t.skipped(), r.in.skipped(t.given > 0)...)
	return reading, err
}

// search reads and searches blocks until there are no more.
func (r *reader) search() error {
	s := &search{screen: r.words}
	for {
		b, err := r.next()
		if b == nil {
			return err
		}
		b.search(s)
		b.searched <- struct{}{}
		if err != nil {
			return err
		}
	}
}

// next reads a block, which is the last one before an error. A block ends where a line does, unless a line is too long for
// that. It returns nil at the end.
func (r *reader) next() (*block, error) {
	r.turn.Lock()
	defer r.turn.Unlock()
	if r.ended {
		return nil, nil
	}
	b := r.block()
	if b == nil {
		r.ended = true
		return nil, nil
	}
	b.filled, b.repeated = copy(b.data, r.rest), r.again
	for {
		n, err := r.in.read(b.data[b.filled : b.filled+blockSize])
		if b.filled += n; err == nil && !b.complete() {
			continue
		}
		if err != nil {
			b.finish()
			r.ended = true
			defer close(r.ordered)
		}
		r.rest, r.again = append(r.rest[:0], b.data[b.keep:b.filled]...), b.end-b.keep
		b.doubt, b.first = r.in.doubt, r.first
		if r.first > 0 {
			r.first = max(0, r.first-b.newlines())
		}
		r.ordered <- b // has room for every block
		if errors.Is(err, io.EOF) {
			err = nil
		}
		return b, err
	}
}

// block returns one that is free, or nil when nobody takes lines any more.
func (r *reader) block() *block {
	select {
	case b := <-r.free:
		b.reset()
		return b
	default:
	}
	if r.made < cap(r.free) {
		r.made++
		return &block{data: make([]byte, room), searched: make(chan struct{}, 1)}
	}
	select {
	case b := <-r.free:
		b.reset()
		return b
	case <-r.stop:
		return nil
	}
}
