package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/railhead/railhead/internal/check"
)

// Diagnosis writes what a catalogue of checks found: every finding with its evidence and its cure, what could not be
// judged because of it, and the sum of it all. Wide adds the remarks, what passed, and what nobody looked at.
func Diagnosis(w io.Writer, r check.Report, wide bool) {
	least := check.Unknown
	if wide {
		least = check.Pass
	}
	findings, folded := r.AtLeast(least), map[check.ID]bool{}
	for i, f := range findings {
		if _, first := alike(findings, i); !first {
			continue
		}
		Findings(w, same(findings, f), Full)
		if because := r.Folded(f.Check); len(because) > 0 && !folded[f.Check] && f.Status > check.Pass {
			folded[f.Check] = true
			fmt.Fprintf(w, "    not judged because of it: %s\n", few(because, wide))
		}
	}
	if wide {
		if len(r.Passed) > 0 {
			fmt.Fprintf(w, "passed: %s\n", join(r.Passed))
		}
		for _, s := range r.Skipped {
			if s.Needs == "" {
				fmt.Fprintf(w, "not judged: %s: %s\n", s.Check, oneLine(s.Why))
			}
		}
	}
	fmt.Fprintln(w, Sum(r))
}

// same are the findings that say the same as f of other subjects.
func same(findings []check.Finding, f check.Finding) []check.Finding {
	var group []check.Finding
	for _, g := range findings {
		if g.Check == f.Check && g.Status == f.Status && g.Summary == f.Summary {
			group = append(group, g)
		}
	}
	return group
}

func join(ids []check.ID) string {
	words := make([]string, 0, len(ids))
	for _, id := range ids {
		words = append(words, string(id))
	}
	return strings.Join(words, ", ")
}

// few names some of many.
func few(ids []check.ID, all bool) string {
	const shown = 5
	if all || len(ids) <= shown+1 {
		return join(ids)
	}
	return fmt.Sprintf("%s and %d more", join(ids[:shown]), len(ids)-shown)
}

// Sum counts in one line what a report holds.
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
		parts = append(parts, fmt.Sprintf("%d not judged", n))
	}
	return verdict + ": " + strings.Join(parts, ", ")
}
