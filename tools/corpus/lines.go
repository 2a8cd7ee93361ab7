package main

import (
	"regexp"
	"strings"
	"unicode"
)

var (
	// frame is the line of a Python traceback that code follows.
	frame = regexp.MustCompile(`^(.*?)  File "[^"]*", line \d+, in `)
	// code is a line of a program that stands in a log without the line of its place.
	code = regexp.MustCompile(`^ {4}(?:return |raise |[\w.]+\(|[\w, ]+ = )|^ {2}@\w`)
	// aside matches text that a person wrote around a message.
	aside = regexp.MustCompile(`^[A-Z]\) .*? +-> |\s+\(all [^)]*\)$`)
	// remark matches text that a person wrote after a line.
	remark = regexp.MustCompile(`\s+# .*$`)
	// prompt is a command line of a person; its variables count.
	prompt   = regexp.MustCompile(`^[\w.-]+@[^#$]*[#$] `)
	variable = regexp.MustCompile(`\b[A-Z][A-Z0-9_]+=\S+`)
)

// programLines returns the lines without those that people wrote.
func programLines(lines []string) []string {
	var kept []string
	place := "" // what stands before the line of a frame, if the line before was one
	inFrame := false
	for _, line := range lines {
		rest, follows := strings.CutPrefix(line, place)
		isCode := inFrame && follows && strings.HasPrefix(rest, "    ") && !strings.Contains(rest, "File \"")
		inFrame, place = false, ""
		if m := frame.FindStringSubmatch(line); m != nil {
			inFrame, place = true, m[1]
		}
		if isCode || code.MatchString(line) {
			continue
		}
		kept = append(kept, withoutRemark(line))
	}
	return kept
}

func withoutRemark(line string) string {
	if m := prompt.FindString(line); m != "" {
		return m + strings.Join(variable.FindAllString(line, -1), " ")
	}
	if found := remark.FindString(line); strings.ContainsFunc(found, foreign) {
		return strings.TrimSuffix(line, found)
	}
	return aside.ReplaceAllString(line, "")
}

// foreign reports whether a letter is of another script than programs print.
func foreign(c rune) bool { return unicode.IsLetter(c) && c > unicode.MaxLatin1 }
