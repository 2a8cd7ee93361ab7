package story

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestScoreOthers compares the stories with an index that was written before any tool read the logs. A field accepts
// every value of its list; "-" accepts all.
func TestScoreOthers(t *testing.T) {
	const dir = corpus + "2"
	index, err := os.Open(filepath.Join(dir, "index.tsv"))
	if err != nil {
		t.Skip("the corpus is not next to this checkout")
	}
	defer index.Close()
	reader := csv.NewReader(index)
	reader.Comma, reader.LazyQuotes, reader.FieldsPerRecord = '\t', true, -1
	rows, err := reader.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	right, all := 0, 0
	for _, row := range rows[1:] {
		file, outcomes := row[0], strings.Split(row[4], ",")
		run := read(t, filepath.Join(dir, file)).Last()
		cause := "-"
		if len(run.Causes) > 0 {
			cause = string(run.Causes[0].ID)
		}
		if slices.Equal(outcomes, []string{"fail"}) && run.Outcome == OutcomeOK {
			t.Errorf("%s: a failure is called ok", file)
		}
		for _, field := range []struct{ name, want, got string }{
			{"network", row[2], string(run.Network.Kind)},
			{"gdr", row[3], string(run.GPUDirect)},
			{"outcome", row[4], string(run.Outcome)},
			{"cause", row[6], cause},
		} {
			if field.want == "-" {
				continue
			}
			all++
			if slices.Contains(strings.FieldsFunc(field.want, func(r rune) bool { return r == ',' || r == ' ' }), field.got) {
				right++
				continue
			}
			t.Errorf("%s %s: %s: want %s, got %s", row[7], file, field.name, field.want, field.got)
		}
	}
	t.Logf("%d of %d fields as in the index", right, all)
}
