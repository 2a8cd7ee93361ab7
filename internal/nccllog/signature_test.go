package nccllog

import (
	"strings"
	"testing"
)

func TestPairsRuleOutNoWord(t *testing.T) {
	for s := range Signatures() {
		for _, w := range s.Words {
			if !pairsOf("a line with "+w).mayHave(w) || !pairsOf(strings.ToUpper(w)+".").mayHave(w) {
				t.Errorf("%s: %q is ruled out in a line that has it", s.ID, w)
			}
			if pairsOf("step loss 2.13").mayHave(w) {
				t.Errorf("%s: %q is not ruled out", s.ID, w)
			}
		}
	}
}
