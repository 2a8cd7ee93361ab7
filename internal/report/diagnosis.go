package report

import (
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
		if _, first := alike(findings, i); !first {
			continue
		}
		Findings(w, same(findings, f), Full)
		if because := r.Folded(f.Check); len(because) > 0 && !folded[f.Check] && f.Status > check.Pass {
			folded[f.Check] = true
			fmt.Fprintf(w, "    skipped because of this: %s\n", words.Few(names(because), shown))
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

// same returns the findings that differ from f only in their subject.
func same(findings []check.Finding, f check.Finding) []check.Finding {
	var group []check.Finding
	for _, g := range findings {
		if g.Alike(f) {
			group = append(group, g)
		}
	}
	return group
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
	count := map[check.Status]int{}
	for _, f := range r.Findings {
		count[f.Status]++
	}
	verdict := "healthy"
	switch {
	case count[check.Fail] > 0:
		verdict = "not healthy"
	case count[check.Warn] > 0:
		verdict = "with warnings"
	case count[check.Unknown] > 0:
		verdict = "not known to be healthy"
	}
	parts := []string{fmt.Sprintf("%d passed", len(r.Passed))}
	for _, status := range []check.Status{check.Unknown, check.Warn, check.Fail} { // each before the last
		if n := count[status]; n > 0 {
			parts = append([]string{fmt.Sprintf("%d %s", n, status)}, parts...)
		}
	}
	if n := len(r.Skipped); n > 0 {
		parts = append(parts, fmt.Sprintf("%d skipped", n))
	}
	return verdict + ": " + strings.Join(parts, ", ")
}
