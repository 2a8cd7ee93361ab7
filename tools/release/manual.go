package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// page is the help of one command.
type page struct {
	path     []string // railhead, setup, cluster
	short    string
	about    string
	sections []section
	commands []entry // below it
}

// section is a heading of the help, such as "Flags", and its lines.
type section struct {
	title string
	lines []string
}

// entry is a line of a list: a command or a flag, and what it does.
type entry struct{ name, text string }

// manual asks both programs in folder for the help of all their commands and returns it as pages of section 1.
func manual(folder, version string, at time.Time) ([]file, error) {
	var pages []file
	for _, program := range []entry{{"railhead", summary}, {"railhead-pod", podSummary}} {
		tree, err := readPages(folder, []string{program.name}, program.text)
		if err != nil {
			return nil, err
		}
		for _, p := range tree {
			pages = append(pages, file{p.name() + ".1", 0o644, []byte(p.roff(version, at))})
		}
	}
	return pages, nil
}

// readPages returns the page of a command and those of all commands below it.
func readPages(folder string, path []string, short string) ([]page, error) {
	args := append(append([]string{}, path[1:]...), "--help")
	out, err := exec.Command(filepath.Join(folder, path[0]), args...).Output()
	if err != nil {
		return nil, fmt.Errorf("%s --help: %w", strings.Join(path, " "), err)
	}
	p := parseHelp(string(out))
	p.path, p.short = path, short
	if p.about == "" || len(p.sections) == 0 {
		return nil, fmt.Errorf("%s --help has no text before Usage, or nothing after it", strings.Join(path, " "))
	}
	pages := []page{p}
	for _, c := range p.commands {
		below, err := readPages(folder, append(append([]string{}, path...), c.name), c.text)
		if err != nil {
			return nil, err
		}
		pages = append(pages, below...)
	}
	return pages, nil
}

var heading = regexp.MustCompile(`^[A-Z][A-Za-z ]*:$`)

// parseHelp reads the help as cobra writes it, and railhead-pod in the same form: text, then sections from Usage on.
func parseHelp(help string) page {
	about, rest, _ := strings.Cut(help, "\nUsage:\n")
	p := page{about: strings.TrimSpace(about)}
	s := section{title: "Usage"}
	for line := range strings.Lines(rest) {
		line = strings.TrimRight(line, " \n")
		switch {
		case heading.MatchString(line):
			p.sections = append(p.sections, s)
			s = section{title: strings.TrimSuffix(line, ":")}
		case strings.HasPrefix(line, `Use "`): // "... --help" for more: the page itself has more
		default:
			s.lines = append(s.lines, line)
		}
	}
	p.sections = append(p.sections, s)
	for _, s := range p.sections {
		if s.title != "Available Commands" {
			continue
		}
		for _, e := range entries(s.lines) {
			if e.name != "help" {
				p.commands = append(p.commands, e)
			}
		}
	}
	return p
}

// A name ends at two spaces, or, if it is that of a command, at one.
var entryLine = regexp.MustCompile(`^ {2,6}(?:(-\S.*?) {2,}|(\S+) +)(\S.*)$`)

// entries parses a list with two columns, whose second may go on in the next lines.
func entries(lines []string) []entry {
	var all []entry
	for _, line := range lines {
		m := entryLine.FindStringSubmatch(line)
		switch { // the text of a flag goes on far to the right
		case m != nil:
			all = append(all, entry{m[1] + m[2], m[3]})
		case strings.TrimSpace(line) != "" && len(all) > 0:
			last := &all[len(all)-1]
			last.text += " " + strings.TrimSpace(line)
		}
	}
	return all
}
