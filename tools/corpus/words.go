package main

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"regexp"
	"strings"
	"unicode"
)

// wordList has the words that may stand in the corpus: those of programs, protocols and units, and plain English.
//
//go:embed words.txt
var wordList string

// words is the set of known words, in lower case.
type words map[string]bool

func knownWords() words {
	w := words{}
	for word := range strings.FieldsSeq(wordList) {
		w[word] = true
	}
	return w
}

// alphabet has the words that stand for unknown ones. A file with more has pairs of them.
var alphabet = strings.Fields("alpha bravo charlie delta echo foxtrot golf hotel india juliett kilo lima mike " +
	"november oscar papa quebec romeo sierra tango uniform victor whiskey xray yankee zulu")

// standIn returns the replacement of the nth unknown word of a file, from 0.
func standIn(n int) string {
	if n < len(alphabet) {
		return alphabet[n]
	}
	return standIn(n/len(alphabet)-1) + alphabet[n%len(alphabet)]
}

// isStandIn reports whether a word, in lower case, is a replacement.
func isStandIn(word string) bool {
	if word == "" {
		return true
	}
	for _, a := range alphabet {
		if rest, ok := strings.CutPrefix(word, a); ok && isStandIn(rest) {
			return true
		}
	}
	return false
}

// letters is a run of letters, number a run of digits and letters a to f that is a number.
var (
	token   = regexp.MustCompile(`\p{L}+|\d+`)
	number  = regexp.MustCompile(`^(?:0x)?[0-9a-f]*\d[0-9a-f]*$|^[0-9A-F]*\d[0-9A-F]*$`)
	compact = regexp.MustCompile(`[\p{L}\d]+`)
)

// known reports whether a run of letters may stand: also one letter, and up to four that are hexadecimal digits.
func (w words) known(word string) bool {
	return len(word) == 1 || w[strings.ToLower(word)] || len(word) <= 4 && strings.Trim(word, "abcdef") == ""
}

// replaceWords replaces every run of letters that is no known word, in the case of its first letters.
func (r *redactor) replaceWords(line string) string {
	return compact.ReplaceAllStringFunc(line, func(mixed string) string {
		if number.MatchString(mixed) {
			return mixed
		}
		return token.ReplaceAllStringFunc(mixed, func(word string) string {
			if r.words.known(word) || unicode.IsDigit(rune(word[0])) {
				return word
			}
			return r.replaceWord(word)
		})
	})
}

func (r *redactor) replaceWord(word string) string {
	lower := strings.ToLower(word)
	r.unknown[lower]++
	if r.letters[lower] == "" {
		r.letters[lower] = standIn(len(r.letters))
	}
	replacement := r.letters[lower]
	switch {
	case strings.ToUpper(word) == word:
		return strings.ToUpper(replacement)
	case unicode.IsUpper(rune(word[0])):
		return strings.ToUpper(replacement[:1]) + replacement[1:]
	}
	return replacement
}

// sameForm returns other hexadecimal digits for those of an identifier, always the same.
func sameForm(id string) string {
	sum := sha256.Sum256([]byte("railhead corpus " + strings.ToLower(id)))
	digits := hex.EncodeToString(sum[:]) + hex.EncodeToString(sum[:])
	n := 0
	rest, prefix := strings.CutPrefix(id, "0x")
	changed := strings.Map(func(c rune) rune {
		if !strings.ContainsRune("0123456789abcdef", c) || n >= len(digits) {
			return c
		}
		n++
		return rune(digits[n-1])
	}, rest)
	if prefix {
		return "0x" + changed
	}
	return changed
}
