package wordsearch

import "strings"

// Pairs is the set of pairs of neighbouring bytes in a text, in any case. It rules out nearly all words that the text
// does not have, where a text is compared with hundreds of words one by one.
type Pairs [1 << 6]uint64

// PairsOf returns the pairs of a text.
func PairsOf(text string) *Pairs {
	var p Pairs
	for i := 1; i < len(text); i++ {
		p[sixBits(text[i-1])] |= 1 << sixBits(text[i])
	}
	return &p
}

// sixBits returns a number below 64, the same one for both cases of a letter.
func sixBits(c byte) uint8 { return c&0x1f | c&0x40>>1 }

// HaveAny reports whether the text of the pairs has one of the words.
func (p *Pairs) HaveAny(text string, words []string) bool {
	for _, w := range words {
		if p.MayHave(w) && strings.Contains(text, w) {
			return true
		}
	}
	return false
}

// MayHave returns false if the text of the pairs does not have the word.
func (p *Pairs) MayHave(word string) bool {
	for i := 1; i < len(word); i++ {
		if p[sixBits(word[i-1])]&(1<<sixBits(word[i])) == 0 {
			return false
		}
	}
	return true
}
