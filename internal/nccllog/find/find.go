// Package find finds parts of the text of a log line.
package find

import (
	"strings"
	"unicode/utf8"
)

// Any reports whether a text has one of the words.
func Any(text string, words ...string) bool { return First(text, words) != "" }

// First returns the first of the words that a text has, or "".
func First(text string, words []string) string {
	for _, w := range words {
		if strings.Contains(text, w) {
			return w
		}
	}
	return ""
}

// Lower changes ASCII letters alone, and so leaves every byte in its place, unlike strings.ToLower.
func Lower(text string) string {
	low := []byte(text)
	for i, c := range low {
		if c >= 'A' && c <= 'Z' {
			low[i] = c + 'a' - 'A'
		}
	}
	return string(low)
}

// WordAfter returns the word after the first of the keys that has one. It ends at a blank or a comma.
func WordAfter(text string, keys ...string) string {
	for _, key := range keys {
		_, rest, _ := strings.Cut(text, key)
		rest = strings.TrimLeft(rest, " ")
		if end := strings.IndexAny(rest, " ,;\t\r\n\"'"); end >= 0 {
			rest = rest[:end]
		}
		if rest != "" {
			return Cut(rest, 120)
		}
	}
	return ""
}

// Between returns the text between two words, or "".
func Between(text, from, to string) string {
	_, rest, ok := strings.Cut(text, from)
	inner, _, found := strings.Cut(rest, to)
	if !ok || !found {
		return ""
	}
	return inner
}

// LastPart returns the text after the last ": ", where the system's error is.
func LastPart(text string) string {
	if i := strings.LastIndex(text, ": "); i >= 0 {
		text = text[i+2:]
	}
	return strings.TrimSpace(text)
}

// Cut returns at most so many bytes of a text, without a part of a character at the end.
func Cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "")
}

// Text returns at most so many bytes of a line, without what is no UTF-8.
func Text(line []byte, most int) string { return Valid(line[:min(len(line), most)]) }

// Valid returns a line without what is no UTF-8. Nearly every line is all valid, which is known sooner.
func Valid(line []byte) string {
	if utf8.Valid(line) {
		return string(line)
	}
	return strings.ToValidUTF8(string(line), "")
}

// Begins reports whether the text begins with the words. Unlike bytes.HasPrefix it compares without a call.
func Begins(text []byte, words string) bool {
	return len(text) >= len(words) && string(text[:len(words)]) == words
}

// Leading returns the number at the beginning of a text, of at most nine digits, and how many digits it has.
func Leading(text []byte) (value, digits int) {
	for digits < min(len(text), 9) && '0' <= text[digits] && text[digits] <= '9' {
		value = value*10 + int(text[digits]-'0')
		digits++
	}
	return value, digits
}

// NumberAfter returns the number that follows a word, or -1.
func NumberAfter(text, word string) int {
	_, rest, _ := strings.Cut(text, word)
	if value, digits := Leading([]byte(rest[:min(len(rest), 9)])); digits > 0 {
		return value
	}
	return -1
}
