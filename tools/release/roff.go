package main

import (
	"fmt"
	"strings"
	"time"
)

func (p page) name() string { return strings.Join(p.path, "-") }

// roff returns the page in the language of man(7).
func (p page) roff(version string, at time.Time) string {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH %s 1 %s \"railhead %s\" \"User Commands\"\n",
		quote(strings.ToUpper(p.name())), at.Format(time.DateOnly), version)
	b.WriteString(".nh\n.ad l\n") // a hyphen in a word looks like part of a name
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", escape(p.name()), escape(p.short))
	for _, s := range p.sections {
		if s.title == "Usage" {
			b.WriteString(".SH SYNOPSIS\n" + verbatim(s.lines))
		}
	}
	b.WriteString(".SH DESCRIPTION\n" + prose(p.about))
	for _, s := range p.sections {
		switch s.title {
		case "Usage":
		case "Examples":
			b.WriteString(".SH EXAMPLES\n" + verbatim(s.lines))
		default:
			fmt.Fprintf(&b, ".SH %s\n", quote(strings.ToUpper(strings.TrimPrefix(s.title, "Available "))))
			for _, e := range entries(s.lines) {
				fmt.Fprintf(&b, ".TP\n\\fB%s\\fR\n%s\n", escape(e.name), escape(e.text))
			}
		}
	}
	b.WriteString(p.seeAlso())
	return b.String()
}

func (p page) seeAlso() string {
	var names []string
	if len(p.path) > 1 {
		names = append(names, strings.Join(p.path[:len(p.path)-1], "-"))
	}
	for _, c := range p.commands {
		names = append(names, p.name()+"-"+c.name)
	}
	if len(names) == 0 {
		return ""
	}
	for i, name := range names {
		names[i] = "\\fB" + escape(name) + "\\fR(1)"
	}
	return ".SH SEE ALSO\n" + strings.Join(names, ",\n") + "\n"
}

// prose returns paragraphs that man fills, and blocks of indented lines that it leaves alone.
func prose(text string) string {
	var b strings.Builder
	for _, block := range strings.Split(text, "\n\n") {
		lines := strings.Split(strings.Trim(block, "\n"), "\n")
		var plain []string
		for len(lines) > 0 && !strings.HasPrefix(lines[0], " ") {
			plain, lines = append(plain, lines[0]), lines[1:]
		}
		if len(plain) > 0 {
			b.WriteString(".PP\n" + escapeLines(plain))
		}
		if len(lines) > 0 {
			b.WriteString(".PP\n" + verbatim(lines))
		}
	}
	return b.String()
}

func verbatim(lines []string) string {
	text := strings.Trim(strings.Join(lines, "\n"), "\n")
	return ".nf\n" + escapeLines(strings.Split(text, "\n")) + ".fi\n"
}

func escapeLines(lines []string) string {
	var b strings.Builder
	for _, line := range lines {
		b.WriteString(escape(line) + "\n")
	}
	return b.String()
}

// escape makes text safe for man: a backslash starts an escape, a plain hyphen may become another character, and a dot
// or an apostrophe at the start of a line is a request.
func escape(text string) string {
	text = strings.NewReplacer(`\`, `\e`, `-`, `\-`, "`", `\(ga`, `'`, `\(aq`, `^`, `\(ha`, `~`, `\(ti`).Replace(text)
	if strings.HasPrefix(text, ".") {
		text = `\&` + text
	}
	return text
}

func quote(text string) string { return `"` + escape(text) + `"` }
