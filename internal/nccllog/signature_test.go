package nccllog

import (
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
