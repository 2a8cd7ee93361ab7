// Package report renders findings and tables for people (text) and programs (JSON, YAML).
package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode"

	"github.com/railhead/railhead/internal/check"
)

// Table has a heading and rows of the same length.
type Table struct {
	Columns []string
	Rows    [][]string
}

// Write aligns the columns with blanks; it reads the same on a terminal, in a log and through a pager.
func (t Table) Write(w io.Writer) error {
	aligned := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	for _, row := range slices.Concat([][]string{t.Columns}, t.Rows) {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = cmp.Or(strings.TrimSpace(oneLine(cell)), "-")
		}
		fmt.Fprintln(aligned, strings.Join(cells, "\t"))
	}
	return aligned.Flush()
}

// Line writes one line of text, which may contain text of other programs.
func Line(w io.Writer, format string, args ...any) {
	fmt.Fprintln(w, oneLine(fmt.Sprintf(format, args...)))
}

// oneLine keeps text from breaking a table or moving the cursor. U+009B starts an escape sequence, too.
func oneLine(s string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsControl(c) {
			return ' '
		}
		return c
	}, s)
}

// Percent writes a part as a percentage. It never rounds up to the whole: 99.96 % of a ceiling is below it.
func Percent(part float64) string {
	if part > 0.9995 && part < 1 {
		part = 0.999
	}
	return fmt.Sprintf("%.1f %%", 100*part)
}

// Encode writes a value as "json" or "yaml".
func Encode(w io.Writer, format string, value any) error {
	data, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	if format == "yaml" {
		if data, err = toYAML(data); err != nil {
			return err
		}
	}
	_, err = io.WriteString(w, printable(strings.TrimRight(string(data), "\n"))+"\n")
	return err
}

// printable escapes characters that JSON allows in strings but YAML does not, or that a terminal interprets.
func printable(text string) string {
	var b strings.Builder
	for _, c := range text {
		if c != '\n' && unicode.IsControl(c) || c == '\uFEFF' || c == '\uFFFE' || c == '\uFFFF' {
			fmt.Fprintf(&b, `\u%04x`, c)
		} else {
			b.WriteRune(c)
		}
	}
	return b.String()
}

// Detail selects how much Findings prints of each finding.
type Detail int

// Brief is the summary and the fix; Full adds the evidence and the commands.
const (
	Brief Detail = iota
	Full
)

// Findings writes findings. It writes those that differ only in their subject once.
func Findings(w io.Writer, findings []check.Finding, detail Detail) {
	for i, f := range findings {
		if line, first := Headline(findings, i); first {
			writeFinding(w, line, f, detail)
		}
	}
}

func writeFinding(w io.Writer, line string, f check.Finding, detail Detail) {
	fmt.Fprintln(w, line)
	if detail == Full {
		for _, e := range f.Evidence {
			fmt.Fprintf(w, "    seen: %s\n", oneLine(e.String()))
		}
	}
	if f.Fix == nil {
		return
	}
	fmt.Fprintf(w, "    fix (%s): %s\n", f.Fix.Who, f.Fix.Text)
	if detail == Full {
		for _, command := range f.Fix.Commands {
			fmt.Fprintf(w, "        %s\n", strings.ReplaceAll(command, "\n", "\n        "))
		}
	}
}

// Headline returns finding i in one line, with the subjects of all findings that differ only in the subject. first is
// false if one of these has a smaller index.
func Headline(findings []check.Finding, i int) (line string, first bool) {
	f := findings[i]
	var subjects []string
	for k, other := range findings {
		same := other.Alike(f)
		if same && k < i {
			return "", false
		}
		subject := other.Subject.String()
		named := other.Subject != (check.Ref{}) && other.Subject != (check.Ref{Kind: check.Pod})
		if same && named && !slices.Contains(subjects, subject) {
			subjects = append(subjects, subject)
		}
	}
	about := strings.Join(subjects, ", ")
	if about != "" {
		about += ": "
	}
	return oneLine(fmt.Sprintf("%s: %s%s [%s]", f.Status, about, f.Summary, f.Check)), true
}
