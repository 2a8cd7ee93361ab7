// Package report renders findings and tables for people (text) and programs (JSON, YAML).
package report

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"unicode"

	"github.com/railhead/railhead/internal/check"
)

// Table is a heading and rows of the same length.
type Table struct {
	Columns []string
	Rows    [][]string
}

// Write aligns the columns with blanks; it reads the same on a terminal, in a log and through a pager.
func (t Table) Write(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	for _, row := range append([][]string{t.Columns}, t.Rows...) {
		cells := make([]string, len(row))
		for i, cell := range row {
			if cells[i] = strings.TrimSpace(oneLine(cell)); cells[i] == "" {
				cells[i] = "-"
			}
		}
		if _, err := fmt.Fprintln(tw, strings.Join(cells, "\t")); err != nil {
			return err
		}
	}
	return tw.Flush()
}

// Line writes one line of text that may hold foreign words.
func Line(w io.Writer, format string, args ...any) {
	fmt.Fprintln(w, oneLine(fmt.Sprintf(format, args...)))
}

// oneLine keeps foreign text from breaking a table or moving the cursor; U+009B begins an escape sequence, too.
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

// printable escapes what JSON allows within quotes but YAML does not take and a terminal may act on.
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

// Detail says how much Findings prints of each finding.
type Detail int

// Brief is the summary and the fix; Full adds the evidence and the commands.
const (
	Brief Detail = iota
	Full
)

// Findings writes what is not as it should be; what holds for several subjects alike is said once.
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

// Headline is a finding in one line, with the subjects of all that say the same; first is false where an earlier one does.
func Headline(findings []check.Finding, i int) (line string, first bool) {
	subjects, first := alike(findings, i)
	f := findings[i]
	return fmt.Sprintf("%s: %s%s [%s]", f.Status, oneLine(subjects), oneLine(f.Summary), f.Check), first
}

// alike joins the subjects of the findings that say the same as number i; first is false where an earlier one does.
func alike(findings []check.Finding, i int) (subjects string, first bool) {
	var names []string
	for k, f := range findings {
		same := f.Check == findings[i].Check && f.Status == findings[i].Status && f.Summary == findings[i].Summary
		if same && k < i {
			return "", false
		}
		if same && f.Subject != "" && f.Subject != "pod" {
			names = append(names, string(f.Subject))
		}
	}
	if len(names) == 0 {
		return "", true
	}
	return strings.Join(names, ", ") + ": ", true
}
