package nccllog

import (
	"slices"
	"strings"
)

// FirstLines is the number of lines of every input that are always read: they show a training log in which NCCL
// prints nothing.
const FirstLines = 200

// Anchors returns the words of lines that the parser needs. After the first lines of its file, a line with none of them
// may be passed over. They are the words of all signatures, and the ones below.
func Anchors() []string {
	words := []string{
		"NCCL", "RCCL", "nccl", // NCCL's own lines, results, variables
		// a copy may lose the text before it
		"NET/",
		// the rest of a line that was wrapped
		"vendor", "localGid", "remoteGid", "curr state", "local GID", "remote GID",
		"Last error:", "Exception", // the next lines are read, too
		"Avg bus", "ut of bounds", " Pid ", "Using devices", // nccl-tests
	}
	words = append(append(words, stems...), quotedWarnings...)
	for _, s := range signatures {
		if s.Origin == Framework { // the others stand behind NCCL's name
			words = append(words, s.Words...)
		}
	}
	return shortest(words)
}

// stems stand for the words of several rows each: the fewer words, the faster the search. Without them nothing is
// missed.
var stems = []string{
	"CUDA", "cuda", "imed out", "imeout", "atchdog", "dump signal", "illed", "xit code", "libibverbs", "DUE TO ",
	"Unable to find",
}

// shortest leaves out the words that have another one in them: a line with them is found by that.
func shortest(words []string) []string {
	slices.SortStableFunc(words, func(a, b string) int { return len(a) - len(b) })
	var kept []string
	for _, w := range words {
		if !slices.ContainsFunc(kept, func(k string) bool {
			return len(k) > minWord && strings.Contains(w, k) ||
				standsAlone(w, k)
		}) {
			kept = append(kept, w)
		}
	}
	return kept
}

// standsAlone reports whether the search finds a word of four bytes inside a longer one.
func standsAlone(in, word string) bool {
	_, rest, found := strings.Cut(in, word)
	return found && len(word) == minWord && (rest == "" || mayFollow(word[minWord-1], rest[0]))
}
