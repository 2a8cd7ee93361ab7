package nccllog

import (
	"bytes"
	"sync"

	"github.com/railhead/railhead/internal/wordsearch"
)

// FirstLines is the number of lines of every input that are always read: they show a training log in which NCCL
// prints nothing.
const FirstLines = 200

// Sieve picks the lines of one input that the parser needs, as Read does, for a caller that has them one by one. Its
// zero value has seen no line.
type Sieve struct {
	Lines int // seen so far
	until int // lines up to this one may continue one that was picked
	tail  tail
}

// Tail returns the last lines.
func (s *Sieve) Tail() []byte { return s.tail }

// Pick counts a line, without its line end, and reports whether the parser needs it.
func (s *Sieve) Pick(line []byte) bool {
	s.Lines++
	s.tail.add(line, tailOfStream)
	s.tail.add([]byte{'\n'}, tailOfStream)
	if at := anchors().Find(line, 0); at >= 0 {
		if !bytes.Contains(line, infoWords) {
			s.until = s.Lines + linesAfter
		}
		return true
	}
	return s.Lines <= FirstLines || s.Lines <= s.until
}

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
		"Last error:", "Failures:", "Root Cause (first",
		// nccl-tests
		"Avg bus", "ut of bounds", " Pid ", "# OSU ", "Using devices",
	}, quotedWarnings...)
	for _, s := range otherSignatures { // the lines of the other tables have NCCL's name
		words = append(words, s.Words...)
	}
	return wordsearch.Shortest(words)
}
