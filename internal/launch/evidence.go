package launch

import (
	"bytes"
	"slices"
	"strings"
	"sync"

	"github.com/railhead/railhead/internal/nccllog"
	"github.com/railhead/railhead/internal/nccllog/event"
	"github.com/railhead/railhead/internal/nccllog/scan"
)

// Evidence collects the log lines of all ranks, for the judge of the network.
type Evidence struct {
	mu      sync.Mutex
	parser  nccllog.Parser
	streams []*logStream

	Proof string // the first line that says which network a channel uses
}

// logStream is one output of one rank. Its lines come one after the other.
type logStream struct {
	name  string
	mu    sync.Mutex
	lines scan.Stream
}

// end returns the place of the last line so far, and the last lines.
func (s *logStream) end() (event.Place, []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return event.Place{File: s.name, Line: s.lines.Lines()}, bytes.Clone(s.lines.Tail())
}

// Stream returns the function that takes the lines of one output. The name is unique.
func (e *Evidence) Stream(name string) func(line []byte) {
	s := &logStream{name: name}
	e.mu.Lock()
	e.streams = append(e.streams, s)
	e.mu.Unlock()
	return func(line []byte) { e.take(s, line) }
}

func (e *Evidence) take(s *logStream, line []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	needed, ok := nccllog.Next(&s.lines, line)
	if !ok { // most lines: they need no lock that all ranks share
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.parser.Take(s.name, needed)
	if e.Proof == "" && bytes.Contains(line, []byte(" via NET/")) {
		e.Proof = strings.TrimSpace(string(line))
	}
}

// Log returns the log so far.
func (e *Evidence) Log() nccllog.Log {
	e.mu.Lock()
	streams := slices.Clone(e.streams)
	e.mu.Unlock()
	for _, s := range streams {
		last, tail := s.end() // without e.mu: take locks a stream first
		e.mu.Lock()
		e.parser.End(last, tail)
		e.mu.Unlock()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.parser.Log()
}
