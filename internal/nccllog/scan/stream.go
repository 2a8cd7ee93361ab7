package scan

import "github.com/railhead/railhead/internal/wordsearch"

// Stream is an input whose lines come one by one. Its zero value has no lines.
type Stream struct {
	line block
	done progress // of the lines before
	tail Tail
}

// tailOfStream is the size of the tail of a stream. A job may have thousands of them at a time.
const tailOfStream = 4 << 10

// Lines returns the number of lines so far.
func (s *Stream) Lines() int { return s.done.ends + s.line.ends }

// Tail returns the last lines.
func (s *Stream) Tail() []byte { return s.tail }

// Next takes a line, without its line end, and returns it or its parts as Lines does; false if the line holds no fact.
// The batch is valid until the next call.
func (s *Stream) Next(text []byte, words *wordsearch.Set) (Batch, bool) {
	s.done.add(&s.line)
	data := append(append(s.line.data[:0], text...), '\n')
	s.line = block{data: data, end: len(data), spans: s.line.spans[:0], first: max(FirstLines-s.done.ends, 0)}
	s.line.search(words)
	s.tail.Add(data, tailOfStream)
	b := Batch{&s.done, &s.line}
	for range b.All() {
		return b, true
	}
	return b, false
}
