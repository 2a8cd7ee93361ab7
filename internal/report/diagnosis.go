package report

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/words"
)

// Diagnosis writes the findings of a report with evidence and fix, the checks that were skipped because of them, and
// the summary. Wide adds remarks, passed checks and checks that were skipped for other reasons.
func Diagnosis(w io.Writer, r check.Report, wide bool) {
	least, shown := check.Unknown, 5
	if wide {
		least, shown = check.Pass, len(r.Skipped)
	}
	findings, folded := r.AtLeast(least), map[check.ID]bool{}
	for i, f := range findings {
		line, first := Headline(findings, i)
		if !first {
			continue
		}
		writeFinding(w, line, f, Full)
		if skipped := r.Folded(f.Check); len(skipped) > 0 && !folded[f.Check] && f.Status > check.Pass {
			folded[f.Check] = true
			fmt.Fprintf(w, "    skipped because of this: %s\n", words.Few(names(skipped), shown))
		}
	}
	if wide {
		writeOthers(w, r)
	}
	fmt.Fprintln(w, Sum(r))
}

func writeOthers(w io.Writer, r check.Report) {
	if len(r.Passed) > 0 {
		fmt.Fprintf(w, "passed: %s\n", strings.Join(names(r.Passed), ", "))
	}
	for _, s := range r.Skipped {
		if s.Needs == "" {
			fmt.Fprintf(w, "skipped: %s: %s\n", s.Check, oneLine(s.Why))
		}
	}
}

func names(ids []check.ID) []string {
	all := make([]string, 0, len(ids))
	for _, id := range ids {
		all = append(all, string(id))
	}
	return all
}

// Sum summarizes a report in one line: the verdict, and how many checks had each outcome.
func Sum(r check.Report) string {
	verdicts := map[check.Status]string{
		check.Unknown: "health unknown",
		check.Warn:    "healthy with warnings",
		check.Fail:    "not healthy",
	}
	parts := append(Counts(r.Findings), fmt.Sprintf("%d passed", len(r.Passed)))
	if n := len(r.Skipped); n > 0 {
		parts = append(parts, fmt.Sprintf("%d skipped", n))
	}
	return cmp.Or(verdicts[check.Overall(r.Findings)], "healthy") + ": " + strings.Join(parts, ", ")
}

// Counts returns the number of findings of each status, the worst first: "4 fail", "3 warn".
func Counts(findings []check.Finding) []string {
	count := map[check.Status]int{}
	for _, f := range findings {
		count[f.Status]++
	}
	var parts []string
	for _, status := range []check.Status{check.Fail, check.Warn, check.Unknown} {
		if n := count[status]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, status))
		}
	}
	return parts
}
