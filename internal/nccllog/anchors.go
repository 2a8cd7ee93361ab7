package nccllog

import (
	"io"
	"sync"

	"github.com/railhead/railhead/internal/nccllog/event"
	"github.com/railhead/railhead/internal/nccllog/scan"
	"github.com/railhead/railhead/internal/wordsearch"
)

// Lines reads a log and passes on the lines that the parser needs.
func Lines(in io.Reader, take func(scan.Batch)) (scan.Reading, error) {
	return scan.Lines(in, anchors(), take)
}

// Read reads a log into the parser. Evidence refers to it by the name.
func (p *Parser) Read(name string, in io.Reader) (scan.Reading, error) {
	reading, err := Lines(in, func(b scan.Batch) { p.Take(name, b) })
	p.End(event.Place{File: name, Line: reading.Lines}, reading.Tail)
	return reading, err
}

// Take reads the lines of a batch of a file.
func (p *Parser) Take(file string, b scan.Batch) {
	for l := range b.All() {
		at := event.Place{File: file, Line: l.Number}
		if l.Way == nil || !knownChannel(p, at, l) {
			for range 1 + l.More {
				p.Line(at, l.Text)
			}
		}
	}
}

// Next returns what the parser needs of the next line of a stream.
func Next(s *scan.Stream, line []byte) (scan.Batch, bool) { return s.Next(line, anchors()) }

// anchors returns the search for anchorWords.
var anchors = sync.OnceValue(func() *wordsearch.Set {
	return wordsearch.New(append(anchorWords(), "N\x00C\x00C\x00L")) // UTF-16 that a shell appended to another encoding
})

// anchorWords returns the words of lines that the parser needs: after the first lines of a file, it needs no line that
// has none of them.
func anchorWords() []string {
	words := append([]string{
		"NCCL", "RCCL", "nccl", // NCCL's own lines, results, variables
		"NET/", // lines that lost their beginning in a copy
		// the rest of a wrapped line
		"vendor", "localGid", "remoteGid", "curr state", "local GID", "remote GID",
		// the parser needs the next lines, too
		"in _run_finalizers", "Error in atexit", "Last error:", "Failures:", "Root Cause (first", localRank,
		// nccl-tests
		"Avg bus", "ut of bounds", " Pid ", "# OSU ", "Using devices",
	}, event.Words()...)
	return wordsearch.Shortest(words)
}
