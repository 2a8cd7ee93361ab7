// Score compares the answers of `railhead explain` with an index of labelled logs, field by field, and prints every
// difference:
//
//	go run ./tools/score [-explain COMMAND] FOLDER
//
// FOLDER has the logs and index.tsv, whose first line names the columns: file, network, gdr, outcome and accept, which
// lists the accepted first causes; without that column, family has the cause. A label accepts each answer that is one
// of its words, so that "other:IBext_v8 (RoCE), no peer" accepts RoCE; Libfabric stands for OFI. A field "-" is not
// counted. Another tool takes part if COMMAND, followed by the path of a log, prints the JSON of
// `railhead explain -o json`.
package main

import (
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/railhead/railhead/internal/story"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "score:", err)
		os.Exit(1)
	}
}

func run(args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("score", flag.ContinueOnError)
	const explainer = "bin/railhead explain -o json"
	command := flags.String("explain", explainer, "command that explains the log whose path follows")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 1 {
		return errors.New("name one folder with logs and index.tsv")
	}
	labels, err := readIndex(filepath.Join(flags.Arg(0), "index.tsv"))
	if err != nil {
		return err
	}
	var s score
	for _, label := range labels {
		answer, err := explain(*command, filepath.Join(flags.Arg(0), label["file"]))
		if err != nil {
			return err
		}
		s.add(label, answer)
	}
	s.print(stdout)
	return nil
}

// label holds the columns of one log by their names.
type label map[string]string

func readIndex(path string) ([]label, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	reader := csv.NewReader(file)
	reader.Comma, reader.LazyQuotes = '\t', true
	rows, err := reader.ReadAll()
	if err != nil || len(rows) == 0 {
		return nil, fmt.Errorf("%s: no table: %w", path, err)
	}
	var labels []label
	for _, row := range rows[1:] {
		l := label{}
		for i, name := range rows[0] {
			l[name] = row[i]
		}
		labels = append(labels, l)
	}
	return labels, nil
}

// explain returns the story of a log. Exit codes are part of the answer, not errors.
func explain(command, path string) (story.Run, error) {
	words := append(strings.Fields(command), path)
	var told story.Story
	out, err := exec.Command(words[0], words[1:]...).Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return story.Run{}, err
	}
	if err := json.Unmarshal(out, &told); err != nil || len(told.Runs) == 0 {
		return story.Run{}, fmt.Errorf("%s: no story in its output: %w", strings.Join(words, " "), err)
	}
	return told.Last(), nil
}

// score counts the fields that agree.
type score struct {
	logs       int
	right, all map[string]int // by field
	calledOK   []string       // failures
	misses     []string
}

// fields of a score, in the order of the table.
var fields = []string{"network", "gdr", "outcome", "accept"}

func (s *score) add(l label, r story.Run) {
	if s.all == nil {
		s.right, s.all = map[string]int{}, map[string]int{}
	}
	s.logs++
	cause := "-"
	if len(r.Causes) > 0 {
		cause = string(r.Causes[0].ID)
	}
	answers := []string{string(r.Network.Kind), string(r.GPUDirect), string(r.Outcome), cause}
	for i, field := range fields {
		want := l[field]
		if field == "accept" {
			want = cmp.Or(want, l["family"])
		}
		if want == "" || want == "-" {
			continue
		}
		s.all[field]++
		if slices.Contains(wordsOf(want), answers[i]) {
			s.right[field]++
			continue
		}
		s.misses = append(s.misses, fmt.Sprintf("%s: %s: want %s, got %s", l["file"], field, want, answers[i]))
	}
	outcomes := wordsOf(l["outcome"])
	if slices.Contains(outcomes, "fail") && !slices.Contains(outcomes, "ok") && r.Outcome == story.OutcomeOK {
		s.calledOK = append(s.calledOK, l["file"])
	}
}

// wordsOf returns the words of a label.
func wordsOf(label string) []string {
	return strings.FieldsFunc(strings.ReplaceAll(label, "Libfabric", "OFI"), func(r rune) bool {
		return r != '-' && r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
}

func (s *score) print(w io.Writer) {
	for _, miss := range s.misses {
		fmt.Fprintln(w, miss)
	}
	fmt.Fprintf(w, "%d logs\n", s.logs)
	for _, field := range fields {
		if all := s.all[field]; all > 0 {
			percent := 100 * float64(s.right[field]) / float64(all)
			fmt.Fprintf(w, "  %-8s %3d of %3d  %5.1f %%\n", field, s.right[field], all, percent)
		}
	}
	fmt.Fprintf(w, "  failures called ok: %d %s\n", len(s.calledOK), strings.Join(s.calledOK, " "))
}
