package prefix

import "bytes"

// Info is NCCL's name and level in front of nearly all that it logs.
const Info = "NCCL INFO "

// Segment returns the index of "NCCL INFO ", "NCCL WARN ", "NCCL ATTN ", "NCCL DIAG " or "NCCL TRACE", or -1. It
// searches for L, their letter that is rarest in texts.
func Segment(line []byte, from int) int {
	const before = len("NCC")
	for at := from + before; at < len(line); at++ {
		i := bytes.IndexByte(line[at:], 'L')
		if i < 0 {
			return -1
		}
		at += i
		rest := line[at-before:]
		if len(rest) < 10 {
			return -1
		}
		if string(rest[:5]) != "NCCL " {
			continue
		}
		switch string(rest[5:10]) {
		case "INFO ", "WARN ", "ATTN ", "DIAG ", "TRACE":
			return at - before
		}
	}
	return -1
}

// InName reports whether the name of a network may have a byte: names are shown to users.
func InName(c byte) bool { return IsHost(c) || c == ' ' || c == '+' }

// IsName reports whether a text can be the name of a network.
func IsName(text []byte) bool {
	for _, c := range text {
		if !InName(c) {
			return false
		}
	}
	return len(text) > 0
}
