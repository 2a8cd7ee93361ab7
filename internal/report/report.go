// Package report renders findings and tables for people (text) and programs (JSON, YAML).
package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/railhead/railhead/internal/check"
)

// Table is a heading and rows of the same length.
type Table struct {
	Columns []string
	Rows    [][]string
}

// Write aligns the columns with blanks; it reads the same on a terminal, in a log and through a pager.
func (t Table) Write(w io.Writer) error {
	widths := make([]int, len(t.Columns))
	rows := make([][]string, 0, len(t.Rows)+1)
	for _, row := range append([][]string{t.Columns}, t.Rows...) {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = cmp.Or(strings.TrimSpace(oneLine(cell)), "-")
			widths[i] = max(widths[i], utf8.RuneCountInString(cells[i]))
		}
		rows = append(rows, cells)
	}
	var text strings.Builder
	for _, cells := range rows {
		last := len(cells) - 1
		for i, cell := range cells[:last] {
			fmt.Fprintf(&text, "%-*s   ", widths[i], cell)
		}
		text.WriteString(cells[last] + "\n")
	}
	_, err := io.WriteString(w, text.String())
	return err
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

// Findings writes findings, and once those that differ only in their subject.
func Findings(w io.Writer, findings []check.Finding, detail Detail) {
	for i, f := range findings {
		line, first := Headline(findings, i)
		if !first {
			continue
		}
		fmt.Fprintln(w, line)
		if detail == Full {
			for _, e := range f.Evidence {
				fmt.Fprintf(w, "    seen: %s\n", oneLine(e.String()))
			}
		}
		if f.Fix == nil {
			continue
		}
		fmt.Fprintf(w, "    fix (%s): %s\n", f.Fix.Who, f.Fix.Text)
		if detail == Full {
			for _, command := range f.Fix.Commands {
				fmt.Fprintf(w, "        %s\n", strings.ReplaceAll(command, "\n", "\n        "))
			}
		}
	}
}

// Headline returns finding i in one line, with the subjects of all findings that differ only in the subject. first is
// false if one of these has a smaller index.
func Headline(findings []check.Finding, i int) (line string, first bool) {
	subjects, first := alike(findings, i)
	f := findings[i]
	return fmt.Sprintf("%s: %s%s [%s]", f.Status, oneLine(subjects), oneLine(f.Summary), f.Check), first
}

// alike joins the subjects of the findings that differ from finding i only in the subject. first is false if one of
// these has a smaller index.
func alike(findings []check.Finding, i int) (subjects string, first bool) {
	var names []string
	for k, f := range findings {
		same := f.Alike(findings[i])
		if same && k < i {
			return "", false
		}
		if same && f.Subject != (check.Ref{}) && f.Subject != (check.Ref{Kind: check.Pod}) {
			names = append(names, f.Subject.String())
		}
	}
	if len(names) == 0 {
		return "", true
	}
	return strings.Join(names, ", ") + ": ", true
}
