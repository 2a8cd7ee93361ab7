package lines

import (
	"bytes"
	"unicode/utf8"
)

// Escape begins the control sequences of terminals.
const Escape = 0x1b

// isBinary reports whether the bytes do not look like text: more than a few are of no use there.
func isBinary(p []byte) bool {
	const enough, few = 64 << 10, 8
	p = p[:min(len(p), enough)]
	controls := 0
	for _, c := range p {
		if isControl(c) {
			controls++
		}
	}
	return controls > len(p)/32+few
}

func isControl(c byte) bool {
	return c < ' ' && c != '\t' && c != '\n' && c != '\r' && c != '\f' && c != '\b' && c != '\a' && c != Escape ||
		c == 0x7f
}

// IsText reports whether a line of a doubtful input is one of text: UTF-8, or UTF-16 that was appended to something
// else.
func IsText(line []byte) bool {
	line = bytes.Trim(line, "\x00")
	zeros := bytes.Count(line, []byte{0})
	if zeros > 0 && (zeros < len(line)/2-1 || bytes.Contains(line, []byte{0, 0})) {
		return false
	}
	return utf8.Valid(line) && !bytes.ContainsFunc(line, func(r rune) bool {
		return r > 0 && r < utf8.RuneSelf &&
			isControl(byte(r))
	})
}
