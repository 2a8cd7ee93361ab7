package event

import (
	_ "embed"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/railhead/railhead/internal/nccllog/find"
	"github.com/railhead/railhead/internal/nccllog/prefix"
)

// benignTable has the forms of complaints after which runs went on and succeeded, one to a line: in how many runs, of
// how many systems, with which framework, and the form. `go run ./tools/alarms -mine` writes it from whole logs.
//
//go:embed benign.tsv
var benignTable string

// benign holds the forms of benignTable.
var benign = sync.OnceValue(func() map[string]bool {
	forms := map[string]bool{}
	for line := range strings.Lines(benignTable) {
		if fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t"); len(fields) == benignFields {
			forms[fields[benignFields-1]] = true
		}
	}
	return forms
})

const (
	benignFields = 4
	benignID     = "benign"
)

var (
	formHost   = regexp.MustCompile(`\[[\w.-]+:\d+\]|error: [\w.-]+:`)
	formPath   = regexp.MustCompile(`(?:/[\w.@+-]+){2,}`)
	formNumber = regexp.MustCompile(`\b0x[0-9a-fA-F]+\b|\b[0-9a-f]{12,}\b|\d+`)
)

// FormOf returns a text without what differs from run to run: labels of launchers, hosts, paths and numbers.
func FormOf(text string) string {
	const longest = 160
	text = strings.TrimSpace(text[len(prefix.Labels(text)):])
	text = formHost.ReplaceAllString(text, "[]")
	text = formPath.ReplaceAllString(text, "/")
	text = formNumber.ReplaceAllString(text, "0")
	return strings.Join(strings.Fields(text[:min(len(text), longest)]), " ")
}

// IsVague reports whether a line complains, and says of no process that it ended: many such lines mean nothing for
// their run.
func (e Event) IsVague() bool {
	switch e.Kind {
	case Harmless:
		return e.Signature == benignID
	case Complaint:
		return e.Detail != ProcessEnd && e.Detail != Told
	case FailureWords, Warning:
		return true
	default:
	}
	return false
}

// isBenign reports whether runs went on after lines like this one, and succeeded.
func isBenign(e Event, text string) bool {
	return e.IsVague() && find.Any(text, benignWords()...) && benign()[FormOf(text)]
}

// benignWords holds the longest word of each form: most lines have none of them, and need no form.
var benignWords = sync.OnceValue(func() []string {
	words := map[string]bool{}
	for form := range benign() {
		words[slices.MaxFunc(letters.FindAllString(form, -1), func(a, b string) int { return len(a) - len(b) })] = true
	}
	return slices.Sorted(maps.Keys(words))
})

var letters = regexp.MustCompile(`[A-Za-z]+`)
