package event

import (
	"os"
	"strings"
	"testing"

	"github.com/railhead/railhead/internal/wordsearch"
)

func TestPairsRuleOutNoWord(t *testing.T) {
	for s := range Signatures() {
		for _, w := range s.Words {
			if !wordsearch.PairsOf("a line with "+w).MayHave(w) || !wordsearch.PairsOf(strings.ToUpper(w)+".").MayHave(w) {
				t.Errorf("%s: %q is ruled out in a line that has it", s.ID, w)
			}
			if wordsearch.PairsOf("step loss 2.13").MayHave(w) {
				t.Errorf("%s: %q is not ruled out", s.ID, w)
			}
		}
	}
}

// TestHarmlessHaveSources: that a warning means nothing is a claim, and its row names the source.
func TestHarmlessHaveSources(t *testing.T) {
	text, err := os.ReadFile("signatures.go")
	if err != nil {
		t.Fatal(err)
	}
	seen, last := 0, ""
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, "Kind: Harmless") {
			seen++
			if !strings.Contains(last, "{ // ") {
				t.Errorf("no source above %s", line)
			}
		}
		last = line
	}
	if seen < 2 {
		t.Errorf("%d rows", seen)
	}
}
