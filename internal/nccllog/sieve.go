package nccllog

import "bytes"

// Sieve picks the lines of one input that the parser needs, the same ones as Read does, for a caller that gets lines
// one by one. Its zero value has seen no line.
type Sieve struct {
	Lines int // seen so far
	until int // lines up to this one may continue one that was picked
}

// Pick counts a line, without its line end, and reports whether the parser needs it.
func (s *Sieve) Pick(line []byte) bool {
	s.Lines++
	if at := anchors().find(line, 0); at >= 0 {
		if !bytes.Contains(line, infoWords) {
			s.until = s.Lines + linesAfter
		}
		return true
	}
	return s.Lines <= FirstLines || s.Lines <= s.until
}
