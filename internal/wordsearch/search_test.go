package wordsearch

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// some words as logs have them: some are short, and some share their letters.
var some = Shortest([]string{"NCCL", "RCCL", "nccl", "NET/", "rror", "vendor", "curr state", "Last error:", " Pid ",
	"Killed", "srun: error:", "FATAL", "ncclSystemError", "Exception", "EMFILE", "N\x00C\x00C\x00L"})

// TestSearchFindsEveryWord searches every word at every index relative to the groups, also at the ends of the text.
func TestSearchFindsEveryWord(t *testing.T) {
	s := New(some)
	for _, w := range some {
		for before := range 3 * group {
			for _, after := range []int{0, 1, 2, 7, 3 * group} {
				text := strings.Repeat("~", before) + w + strings.Repeat("~", after)
				got := s.Find([]byte(text), 0)
				if want := strings.Index(text, w); got != want && (after > 0 || len(w) > minWord) {
					t.Fatalf("%q after %d bytes and before %d: found at %d", w, before, after, got)
				}
				if got := s.Find([]byte(text), before+1); got > before {
					t.Fatalf("%q after %d bytes is found again at %d", w, before, got)
				}
			}
		}
	}
}

func TestSearchFindsWordsOneAfterTheOther(t *testing.T) {
	s := New(some)
	text := []byte(strings.Repeat("NCCL WARN x", 1000))
	n := 0
	for at := s.Find(text, 0); at >= 0; at = s.Find(text, at+1) {
		if at != n*len("NCCL WARN x") {
			t.Fatalf("word %d is found at %d", n, at)
		}
		n++
	}
	if n != 1000 {
		t.Errorf("%d words, want 1000", n)
	}
}

// TestSearchOfManyWords asserts that rows can be added without a limit.
func TestSearchOfManyWords(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	words := make([]string, 2000)
	for i := range words {
		words[i] = fmt.Sprintf("%c%x", 'a'+rune(random.IntN(26)), 1<<20+random.Int64N(1<<30))
	}
	s := New(words)
	for _, w := range words {
		if got := s.Find([]byte("~~~~~~~"+w+"~"), 0); got != 7 {
			t.Fatalf("%q: found at %d", w, got)
		}
	}
}

func TestSearchOfShortTexts(t *testing.T) {
	s := New([]string{"NCCL", "rror"})
	for text, want := range map[string]int{"": -1, "N": -1, "NC": -1, "NCCL": -1, "NCCL:": 0, "rror": -1, "rror\n": 0,
		"error:": 1, "rrorx": -1, "rrorX": 0} {
		if got := s.Find([]byte(text), 0); got != want {
			t.Errorf("%q: found at %d, want %d", text, got, want)
		}
	}
}

// hasWord is a plain search for some.
func hasWord(line string) bool {
	for _, w := range some {
		for i := range line {
			end := i + len(w)
			if strings.HasPrefix(line[i:], w) && (len(w) > minWord || end == len(line) || mayFollow(w[len(w)-1], line[end])) {
				return true
			}
		}
	}
	return false
}

func FuzzSearch(f *testing.F) {
	f.Add("xxNCCL INFO", 0)
	words := New(some)
	f.Fuzz(func(t *testing.T, text string, from int) {
		if from < 0 || from > len(text) {
			return
		}
		text += "\n"
		got := words.Find([]byte(text), from)
		if want := hasWord(text[from:]); want != (got >= 0) {
			t.Errorf("%q from %d: found at %d, but a word is there: %v", text, from, got, want)
		}
		if got >= 0 && (got < from || !hasWord(text[got:])) {
			t.Errorf("%q from %d: found at %d", text, from, got)
		}
	})
}
