package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"

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

func (a *app) newBenchDiff() *cobra.Command {
	format := "text"
	cmd := &cobra.Command{
		Use:   "diff OLD.json NEW.json",
		Short: "Say what has become slower or faster between two results, beyond the noise",
		Long: `diff holds two results of 'railhead bench --save' against each other, number by number, by the names of the nodes, and names
what has changed on the machines meanwhile. A change counts when it is beyond the noise: three standard errors of the medians
where there are three runs or more ('bench --runs 3'), else 10 %. What has the same value, or is in one of both alone, is shown
with -o wide.

Exit status: 0 when nothing has become slower; 1 when something has; 3 when no number is in both to compare.`,
		Example: `  railhead bench h-kim -n train --matrix --runs 3 --save monday.json
  railhead bench h-kim -n train --matrix --runs 3 --save tuesday.json
  railhead bench diff monday.json tuesday.json`,
		Args: cobra.ExactArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			before, err := readBench(args[0])
			if err != nil {
				return unknown(err)
			}
			now, err := readBench(args[1])
			if err != nil {
				return unknown(err)
			}
			d := benchDiff{Old: args[0], New: args[1], Changes: bench.Compare(before.Series, now.Series), Facts: bench.Differences(before, now)}
			if format == "json" || format == "yaml" {
				err = report.Encode(a.streams.Out, format, d)
			} else {
				err = d.write(a.streams.Out, format == "wide")
			}
			if err != nil {
				return err
			}
			switch {
			case d.count(bench.Slower) > 0:
				return exit.Error{Code: exit.Fault}
			case d.count(bench.Same)+d.count(bench.Faster) == 0:
				return exit.Error{Code: exit.Unknown, Err: errors.New("no number above 0 is in both: it takes the same measurement between the same nodes")}
			}
			return nil
		},
	}
	choiceFlag(cmd, &format, "output", "o", "form of the output", "text", "wide", "json", "yaml")
	return cmd
}

// write shows the changed numbers; wide shows all.
func (d benchDiff) write(out io.Writer, wide bool) error {
	table := report.Table{Columns: []string{"WHAT", "OLD", "NEW", "CHANGE", "NOISE", ""}}
	for _, c := range d.Changes {
		if alone := c.Verdict == bench.Gone || c.Verdict == bench.New; wide || !alone && c.Verdict != bench.Same {
			table.Rows = append(table.Rows, changeText(c))
		}
	}
	if len(table.Rows) > 0 {
		if err := table.Write(out); err != nil {
			return err
		}
	}
	for _, f := range d.Facts {
		report.Line(out, "Changed on %s: %s was %s, and is %s", f.Place, f.What, cmp.Or(f.Old, "-"), cmp.Or(f.New, "-"))
	}
	report.Line(out, "%s: %d slower, %d faster, %d the same within the noise, %d gone, %d new, %d unknown", words.Count(len(d.Changes), "number"),
		d.count(bench.Slower), d.count(bench.Faster), d.count(bench.Same), d.count(bench.Gone), d.count(bench.New), d.count(bench.Unknown))
	return nil
}

// count returns the number of comparisons with a verdict.
func (d benchDiff) count(v bench.Verdict) int {
	n := 0
	for _, c := range d.Changes {
		if c.Verdict == v {
			n++
		}
	}
	return n
}

func changeText(c bench.Change) []string {
	row := []string{c.Name, number(c.Old), number(c.New), "", "", string(c.Verdict)}
	if c.Bound > 0 { // both have a number
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
