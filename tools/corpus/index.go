package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// index is a table of files and their labels, separated by tabs.
type index struct {
	columns []string
	rows    [][]string
}

// dropped are the columns that say how the original was obtained.
var dropped = []string{"copy", "evidence"}

func readIndex(path string) (index, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return index{}, err
	}
	var x index
	for line := range strings.Lines(string(data)) {
		fields := strings.Split(strings.TrimRight(line, "\r\n"), "\t")
		if x.columns == nil {
			x.columns = fields
			continue
		}
		x.rows = append(x.rows, fields)
	}
	return x, nil
}

func (x index) value(row []string, column string) string {
	if i := slices.Index(x.columns, column); i >= 0 && i < len(row) {
		return row[i]
	}
	return ""
}

// head returns an index without rows, with the columns that go into the corpus: the source is the last.
func (x index) head() index {
	var columns []string
	for _, c := range x.columns {
		if !slices.Contains(dropped, c) && c != "source" {
			columns = append(columns, c)
		}
	}
	return index{columns: append(columns, "source")}
}

// labels returns a row of the new index.
func (x index) labels(row []string, name string, w words) []string {
	var labels []string
	for _, c := range x.head().columns {
		switch value := x.value(row, c); c {
		case "file":
			labels = append(labels, name)
		case "source":
			labels = append(labels, citation(value))
		default:
			text, _ := w.redact(value)
			labels = append(labels, text)
		}
	}
	return labels
}

var (
	thread     = regexp.MustCompile(`^https://github\.com/\S+`)
	repository = regexp.MustCompile(`^[A-Za-z][\w.-]*/[\w.-]+(?:#\d+|:\S+)`)
)

// citation returns the public place of a source, "-" where it names none.
func citation(source string) string {
	if at := thread.FindString(source); at != "" {
		return at
	}
	if at := repository.FindString(source); at != "" {
		return at
	}
	return "-"
}

func (x index) String() string {
	var b strings.Builder
	for _, row := range append([][]string{x.columns}, x.rows...) {
		b.WriteString(strings.Join(row, "\t") + "\n")
	}
	return b.String()
}

// fileName drops the parts of a name that are no known words: sites, projects, threads.
func (w words) fileName(file string) string {
	ext := filepath.Ext(file)
	var kept []string
	for part := range strings.SplitSeq(strings.TrimSuffix(file, ext), "-") {
		stem := strings.Map(func(c rune) rune {
			if unicode.IsDigit(c) {
				return -1
			}
			return c
		}, part)
		if allKnown := !slices.ContainsFunc(token.FindAllString(part, -1), func(word string) bool {
			return !unicode.IsDigit(rune(word[0])) && !w.known(word)
		}); allKnown && !slices.Contains(threads, stem) {
			kept = append(kept, part)
		}
	}
	return strings.Join(kept, "-") + ext
}

// threads are known words that stand for a project or a site in the name of a file.
var threads = strings.Fields("accelerate curve demo dynamo horovod jax lab megatron mooncake nccl nccltests ofi ops " +
	"pytorch ray rccl roc rocm sglang tests tf tx ucx vllm")
