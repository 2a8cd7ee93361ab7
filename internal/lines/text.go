package lines

import (
	"bytes"
	"unicode/utf8"
)

// isBinary reports whether the bytes have more control characters than a text may have.
func isBinary(p []byte) bool {
	const enough, few = 64 << 10, 8
	p = p[:min(len(p), enough)]
	controls := 0
	for _, c := range p {
		if isControl(rune(c)) {
			controls++
		}
	}
	return controls > len(p)/32+few
}

// isControl reports control characters that texts do not have: all but \a, \b, \t, \n, \f, \r and escape.
func isControl(c rune) bool {
	return c < ' ' && bytes.IndexByte([]byte("\a\b\t\n\f\r\x1b"), byte(c)) < 0 || c == 0x7f
}

// IsText reports whether a line of a doubtful input is text: UTF-8, or UTF-16 that was appended to another encoding.
func IsText(line []byte) bool {
	line = bytes.Trim(line, "\x00")
	zeros := bytes.Count(line, []byte{0})
	if zeros > 0 && (zeros < len(line)/2-1 || bytes.Contains(line, []byte{0, 0})) {
		return false
	}
	return utf8.Valid(line) && !bytes.ContainsFunc(line, func(r rune) bool { return r > 0 && isControl(r) })
}
