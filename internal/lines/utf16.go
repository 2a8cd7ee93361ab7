package lines

import (
	"io"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// utf16Order returns the byte order of UTF-16 text and the length of its byte order mark; ok is false if it is none.
// PowerShell redirects output as UTF-16, and writes no mark where it appends.
func utf16Order(head []byte) (order unicode.Endianness, mark int64, ok bool) {
	if len(head) < 2 {
		return order, 0, false
	}
	switch string(head[:2]) {
	case "\xff\xfe":
		return unicode.LittleEndian, 2, true
	case "\xfe\xff":
		return unicode.BigEndian, 2, true
	}
	// Most of a log is ASCII: every second byte is NUL, and few others are.
	var zero [2]int
	for i, c := range head[:len(head)/2*2] {
		if c == 0 {
			zero[i&1]++
		}
	}
	most, few := len(head)/2*3/4, len(head)/2/16
	for i, order := range []unicode.Endianness{unicode.BigEndian, unicode.LittleEndian} {
		if len(head) >= 4 && head[i] == 0 && head[2+i] == 0 && zero[i] >= most && zero[1-i] <= few {
			return order, 0, true
		}
	}
	return order, 0, false
}

// utf8Of turns UTF-16 into UTF-8. Half a character becomes U+FFFD.
func utf8Of(in io.Reader, order unicode.Endianness) io.Reader {
	return transform.NewReader(in, unicode.UTF16(order, unicode.IgnoreBOM).NewDecoder())
}
