package launch

import (
	"bytes"
	"strings"
	"sync"

	"github.com/railhead/railhead/internal/nccllog"
	"github.com/railhead/railhead/internal/nccllog/event"
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
	sieve nccllog.Sieve
}

// pick reports whether a line is needed, and its number.
func (s *logStream) pick(line []byte) (int, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	picked := s.sieve.Pick(line)
	return s.sieve.Lines, picked
}

// end returns the place of the last line so far, and the last lines.
func (s *logStream) end() (event.Place, []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return event.Place{File: s.name, Line: s.sieve.Lines}, bytes.Clone(s.sieve.Tail())
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
	number, picked := s.pick(line)
	if !picked { // most lines: they need no lock that all ranks share
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.parser.Line(event.Place{File: s.name, Line: number}, line)
	if e.Proof == "" && bytes.Contains(line, []byte(" via NET/")) {
		e.Proof = strings.TrimSpace(string(line))
	}
}

// Log returns the log so far.
func (e *Evidence) Log() nccllog.Log {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, s := range e.streams {
		e.parser.End(s.end())
	}
	return e.parser.Log()
}
