package host

import (
	"strconv"
	"strings"
)

// Atoi reads a number as glibc does: by strtol, cut to an int.
func Atoi(text string) int {
	n, _ := Strtol(text, 10)
	return int(int32(n)) //nolint:gosec // glibc cuts it, too
}

// Strtol reads a number as C does: blanks and a sign first, then the digits of the base, which 0 leaves to the value.
// Without digits it is 0. ok is false if it is out of range.
func Strtol(value string, base int) (n int64, ok bool) {
	text := strings.TrimLeft(value, " \t\n\v\f\r")
	sign := ""
	if text != "" && (text[0] == '-' || text[0] == '+') {
		sign, text = text[:1], text[1:]
	}
	switch {
	case base != 0:
	case len(text) > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X') && digits(text[2:], 16) > 0:
		base, text = 16, text[2:]
	case strings.HasPrefix(text, "0"):
		base = 8
	default:
		base = 10
	}
	end := digits(text, base)
	if end == 0 {
		return 0, true
	}
	n, err := strconv.ParseInt(sign+text[:end], base, 64)
	return n, err == nil
}

func digits(text string, base int) int {
	n := 0
	for n < len(text) && digit(text[n]) < base {
		n++
	}
	return n
}

// digit returns the value of a hexadecimal digit, 16 for any other character.
func digit(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	}
	return 16
}
