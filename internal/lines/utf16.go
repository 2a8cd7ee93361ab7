package lines

import (
	"encoding/binary"
	"io"
	"unicode/utf16"
	"unicode/utf8"
)

// utf16Order returns the byte order of UTF-16 text and the length of its byte order mark, or nil. PowerShell redirects
// output as UTF-16, and writes no mark where it appends.
func utf16Order(head []byte) (order binary.ByteOrder, mark int64) {
	if len(head) < 2 {
		return nil, 0
	}
	switch string(head[:2]) {
	case "\xff\xfe":
		return binary.LittleEndian, 2
	case "\xfe\xff":
		return binary.BigEndian, 2
	}
	// Most of a log is ASCII: every second byte is NUL, and few others are.
	var zero [2]int
	for i, c := range head[:len(head)/2*2] {
		if c == 0 {
			zero[i&1]++
		}
	}
	most, few := len(head)/2*3/4, len(head)/2/16
	for i, order := range []binary.ByteOrder{binary.BigEndian, binary.LittleEndian} {
		if len(head) >= 4 && head[i] == 0 && head[2+i] == 0 && zero[i] >= most && zero[1-i] <= few {
			return order, 0
		}
	}
	return nil, 0
}

// utf16Reader turns UTF-16 into UTF-8.
type utf16Reader struct {
	in    io.Reader
	order binary.ByteOrder
	raw   [8 << 10]byte
	kept  int    // bytes at the beginning of raw that are not decoded yet
	out   []byte // decoded and not read yet
	store []byte
	err   error
}

func (u *utf16Reader) Read(p []byte) (int, error) {
	for len(u.out) == 0 {
		if u.err != nil {
			return 0, u.err
		}
		var n int
		n, u.err = u.in.Read(u.raw[u.kept:])
		u.decode(u.kept + n)
	}
	n := copy(p, u.out)
	u.out = u.out[n:]
	return n, nil
}

// decode decodes the first n bytes of raw, except half a character at their end.
func (u *utf16Reader) decode(n int) {
	u.store = u.store[:0]
	at := 0
	for at+2 <= n {
		c := rune(u.order.Uint16(u.raw[at:]))
		size := 2
		if utf16.IsSurrogate(c) {
			if at+4 > n && u.err == nil {
				break
			}
			if at+4 <= n {
				if pair := utf16.DecodeRune(c, rune(u.order.Uint16(u.raw[at+2:]))); pair != utf8.RuneError {
					c, size = pair, 4
				}
			}
		}
		u.store = utf8.AppendRune(u.store, c) // half a pair becomes U+FFFD
		at += size
	}
	u.out = u.store
	u.kept = copy(u.raw[:], u.raw[at:n])
}
