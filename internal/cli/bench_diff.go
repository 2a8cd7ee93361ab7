package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/internal/exit"
	"github.com/railhead/railhead/internal/report"
	"github.com/railhead/railhead/internal/words"
)

// benchDiff compares every number of two results.
type benchDiff struct {
	Old     string         `json:"old"`
	New     string         `json:"new"`
	Changes []bench.Change `json:"changes"`
	Facts   []bench.Differ `json:"facts,omitempty"` // of the machines
}

func newBenchDiff(a *app) *cobra.Command {
	format := "text"
	cmd := &cobra.Command{
		Use:   "diff OLD.json NEW.json",
		Short: "Show which numbers of two results differ by more than the noise",
		Long: `bench diff compares two results of 'railhead bench --save', number by number and node by node,
and shows what changed on the machines in between. A change counts if it is larger than the noise: three standard errors
of the medians, at least 2 %, if both have three or more runs ('bench --runs 3'), otherwise 10 %. -o wide also shows the
numbers that did not change and those that only one result has.

Exit status: 0 if nothing became slower; 1 if something did; 3 if the results have no number in common.`,
		Example: `  railhead bench h-kim -n train --matrix --runs 3 --save monday.json
  railhead bench h-kim -n train --matrix --runs 3 --save tuesday.json
  railhead bench diff monday.json tuesday.json`,
		Args: takes(2, "OLD.json", "NEW.json"),
		RunE: func(_ *cobra.Command, args []string) error {
			before, err := readBench(args[0])
			if err != nil {
				return unknown(err)
			}
			now, err := readBench(args[1])
			if err != nil {
				return unknown(err)
			}
			d := benchDiff{
				Old:     args[0],
				New:     args[1],
				Changes: bench.Compare(before.Series, now.Series),
				Facts:   bench.Differences(before, now),
			}
			if err := a.print(format, d, d.write); err != nil {
				return err
			}
			switch n := d.count(); {
			case n[bench.Slower] > 0:
				return exit.Error{Code: exit.Fault}
			case n[bench.Same]+n[bench.Faster] == 0:
				return unknown(errors.New("nothing to compare: no number above 0 is in both results; " +
					"repeat the same measurement between the same nodes"))
			}
			return nil
		},
	}
	outputFlag(cmd, &format, "text", "wide", "json", "yaml")
	return cmd
}

// write shows the changed numbers; wide shows all.
func (d benchDiff) write(out io.Writer, wide bool) error {
	table := report.Table{Columns: []string{"WHAT", "OLD", "NEW", "CHANGE", "NOISE", ""}}
	for _, c := range d.Changes {
		if wide || !slices.Contains([]bench.Verdict{bench.Same, bench.Gone, bench.New}, c.Verdict) {
			table.Rows = append(table.Rows, changeText(c))
		}
	}
	if len(table.Rows) > 0 {
		if err := table.Write(out); err != nil {
			return err
		}
	}
	for _, f := range d.Facts {
		report.Line(out, "Changed on %s: %s was %s, is now %s", f.Place, f.What, cmp.Or(f.Old, "-"), cmp.Or(f.New, "-"))
	}
	n := d.count()
	report.Line(out, "%s: %d slower, %d faster, %d the same within the noise, %d gone, %d new, %d unknown",
		words.Count(len(d.Changes), "number"), n[bench.Slower], n[bench.Faster], n[bench.Same],
		n[bench.Gone], n[bench.New], n[bench.Unknown])
	return nil
}

func (d benchDiff) count() map[bench.Verdict]int {
	n := map[bench.Verdict]int{}
	for _, c := range d.Changes {
		n[c.Verdict]++
	}
	return n
}

func changeText(c bench.Change) []string {
	row := []string{c.Name, number(c.Old), number(c.New), "", "", string(c.Verdict)}
	if c.Bound > 0 { // both results have the number
		row[3] = fmt.Sprintf("%+.1f %%", 100*(c.Ratio-1))
		row[4] = fmt.Sprintf("%.1f %%", 100*c.Bound)
		if c.Assumed {
			row[4] += " (assumed)"
		}
	}
	return row
}

func number(s bench.Summary) string {
	if s.Runs == 0 {
		return ""
	}
	return fmt.Sprintf("%.4g", s.Median)
}

// saveJSON writes a result as JSON on one line, because an indented matrix has one number a line. A concurrent reader
// sees the old or the new file.
func saveJSON(name string, v any) error {
	encode := func(w io.Writer) error { return json.NewEncoder(w).Encode(v) }
	if info, err := os.Lstat(name); err == nil && !info.Mode().IsRegular() { // a pipe, such as /dev/stdout
		return writeFile(name, encode)
	}
	next := name + ".part"
	if err := writeFile(next, encode); err != nil {
		return err
	}
	return os.Rename(next, name)
}

// maxResultSize bounds the file of a result. The result of 1,024 pods with 8 rails has 40 MB.
const maxResultSize = 1 << 30

// readBench reads a file of saveBench or -o json.
func readBench(name string) (bench.Result, error) {
	file, err := os.Open(name)
	if err != nil {
		return bench.Result{}, err
	}
	defer file.Close()
	r, err := bench.ReadResult(io.LimitReader(file, maxResultSize))
	if err != nil {
		return r, fmt.Errorf("%s: %w", name, err)
	}
	return r, nil
}
