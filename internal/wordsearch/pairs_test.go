package wordsearch

import (
	"strings"
	"testing"
)

func TestPairs(t *testing.T) {
	for _, w := range some {
		text := "a line with " + w
		if p := PairsOf(text); !p.HaveAny(text, []string{"absent", w}) || !PairsOf(strings.ToUpper(text)).MayHave(w) {
			t.Errorf("%q is ruled out in a line that has it", w)
		}
		if PairsOf("step loss 2.13").MayHave(w) {
			t.Errorf("%q is not ruled out", w)
		}
	}
	if PairsOf("abcab").HaveAny("abcab", []string{"cabc"}) {
		t.Error("the text has a word that it only may have")
	}
}
