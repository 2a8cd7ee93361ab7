package scan

import "bytes"

// Tail is the end of a text: the last bytes, as many as its size, or up to twice as many.
type Tail []byte

// tailOfFile is the size of the tail of an input.
const tailOfFile = 16 << 10

// Add adds a part of the text to a tail of a size.
func (t *Tail) Add(text []byte, size int) {
	if len(text) >= size {
		*t = append((*t)[:0], text[len(text)-size:]...)
		return
	}
	*t = append(*t, text...)
	if len(*t) > 2*size {
		*t = append((*t)[:0], (*t)[len(*t)-size:]...)
	}
}

// Lines returns the lines of a tail. The first one may lack its beginning.
func (t Tail) Lines() [][]byte {
	return bytes.Split(bytes.TrimSuffix(t, []byte{'\n'}), []byte{'\n'})
}
