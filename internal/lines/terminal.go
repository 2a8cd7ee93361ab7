package lines

import "bytes"

// Escape begins the control sequences of terminals.
const Escape = 0x1b

// Clean appends the text without escape sequences of terminals and without NUL bytes.
func Clean(to, text []byte) []byte {
	for len(text) > 0 {
		i := bytes.IndexAny(text, "\x1b\x00")
		if i < 0 {
			return append(to, text...)
		}
		to = append(to, text[:i]...)
		text = text[i:]
		if text[0] == 0 {
			text = bytes.TrimLeft(text, "\x00")
			continue
		}
		text = text[sequence(text):]
	}
	return to
}

// sequence returns the length of the escape sequence that the text begins with (ECMA-48, 5.3 to 5.6).
func sequence(text []byte) int {
	const most = 256
	text = text[:min(len(text), most)]
	if len(text) < 2 {
		return len(text)
	}
	switch kind := text[1]; {
	case kind == '[':
		return controlSequence(text)
	case kind == ']':
		return stringSequence(text)
	case kind >= 0x20 && kind <= 0x2f: // one more byte
		return min(3, len(text))
	case kind < 0x20 || kind > 0x7e:
		return 1
	}
	return 2
}

// controlSequence returns the length of a sequence of parameters and a final byte.
func controlSequence(text []byte) int {
	i := 2
	for i < len(text) && text[i] >= 0x20 && text[i] < 0x40 {
		i++
	}
	if i < len(text) && text[i] >= 0x40 && text[i] <= 0x7e {
		i++
	}
	return i
}

// stringSequence returns the length of a sequence with a string, such as the title of a window.
func stringSequence(text []byte) int {
	i := bytes.IndexAny(text[2:], "\a\x1b")
	switch {
	case i < 0:
		return 2
	case text[2+i] == Escape:
		return min(i+4, len(text))
	}
	return i + 3
}
