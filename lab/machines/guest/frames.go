package guest

import (
	"encoding/binary"
	"fmt"
	"io"
)

// A frame of the answer to an Exec is one byte for its kind, four for the length of its content (big endian), and the
// content. The last one is of kind Exited.
const (
	Stdout byte = 1
	Stderr byte = 2
	Exited byte = 3 // an Exit as JSON
)

const (
	frameHead = 5
	// longestFrame bounds the memory of a reader; writers of package os/exec have at most 32 KiB at once.
	longestFrame = 1 << 20
)

// WriteFrame writes a frame, by one call of w.Write.
func WriteFrame(w io.Writer, kind byte, content []byte) error {
	frame := make([]byte, frameHead, frameHead+len(content))
	frame[0] = kind
	binary.BigEndian.PutUint32(frame[1:], uint32(len(content)))
	_, err := w.Write(append(frame, content...))
	return err
}

// ReadFrame reads a frame. It returns io.EOF where none begins, and io.ErrUnexpectedEOF where one is cut off.
func ReadFrame(r io.Reader) (kind byte, content []byte, err error) {
	var head [frameHead]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	n := binary.BigEndian.Uint32(head[1:])
	if n > longestFrame {
		return 0, nil, fmt.Errorf("frame of %d bytes: more than %d", n, longestFrame)
	}
	content = make([]byte, n)
	if _, err := io.ReadFull(r, content); err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return 0, nil, err
	}
	return head[0], content, nil
}
