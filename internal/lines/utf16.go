package lines

import (
	"encoding/binary"
	"io"
	"unicode/utf16"
	"unicode/utf8"
)

// utf16Order returns the byte order of a text that is UTF-16, and how long its byte order mark is; nil where it is not.
// PowerShell writes what it redirects in UTF-16, and without a mark where it appends.
func utf16Order(head []byte) (order binary.ByteOrder, mark int) {
	if len(head) < 2 {
		return nil, 0
	}
	switch string(head[:2]) {
	case "\xff\xfe":
		return binary.LittleEndian, 2
	case "\xfe\xff":
		return binary.BigEndian, 2
	}
	// Most of a log is ASCII, and so are its first letters: every second byte is NUL, and the others are not.
	var zero [2]int
	for i, c := range head[:len(head)/2*2] {
		if c == 0 {
			zero[i&1]++
		}
	}
	most, few := len(head)/2*3/4, len(head)/2/16
	switch {
	case len(head) < 4:
	case zero[1] >= most && zero[0] <= few && head[1] == 0 && head[3] == 0:
		return binary.LittleEndian, 0
	case zero[0] >= most && zero[1] <= few && head[0] == 0 && head[2] == 0:
		return binary.BigEndian, 0
	}
	return nil, 0
}

// utf16Reader turns UTF-16 into UTF-8.
type utf16Reader struct {
	in    io.Reader
	order binary.ByteOrder
	raw   [8 << 10]byte
	kept  int    // bytes of raw that wait for those that follow
	out   []byte // decoded and not yet read
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

// decode decodes the first n bytes of raw, but for half a character at their end.
func (u *utf16Reader) decode(n int) {
	u.store = u.store[:0]
	at := 0
	for ; at+2 <= n; at += 2 {
		c := rune(u.order.Uint16(u.raw[at:]))
		switch {
		case c < utf8.RuneSelf:
			u.store = append(u.store, byte(c))
			continue
		case utf16.IsSurrogate(c) && at+4 > n && u.err == nil:
			u.keep(at, n)
			return
		case utf16.IsSurrogate(c) && at+4 <= n:
			if pair := utf16.DecodeRune(c, rune(u.order.Uint16(u.raw[at+2:]))); pair != utf8.RuneError {
				c = pair
				at += 2
			}
		}
		u.store = utf8.AppendRune(u.store, c) // half a pair becomes U+FFFD
	}
	u.keep(at, n)
}

func (u *utf16Reader) keep(at, n int) {
	u.out = u.store
	u.kept = copy(u.raw[:], u.raw[at:n])
}
