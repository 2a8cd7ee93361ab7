package main

import (
	"regexp"
	"strings"
)

// redactor replaces the names of one file. The same name has the same replacement in the whole file.
type redactor struct {
	words    words
	hosts    hosts
	networks networks
	calendar calendar
	letters  map[string]string // unknown word in lower case -> its replacement
	unknown  map[string]int    // how often a word was replaced, for those who extend the list of words
}

// redact returns the text with every name replaced. Lines of code and remarks of people are gone.
func (w words) redact(text string) (string, *redactor) {
	lines := programLines(strings.Split(text, "\n"))
	text = strings.Join(lines, "\n")
	r := &redactor{
		words:    w,
		hosts:    hostsOf(text),
		networks: networks{},
		calendar: calendarOf(text),
		letters:  map[string]string{},
		unknown:  map[string]int{},
	}
	for i, line := range lines {
		lines[i] = r.line(line)
	}
	return strings.Join(lines, "\n"), r
}

// line replaces the names of a line: first those that their form tells, then every word that is not in the list.
func (r *redactor) line(line string) string {
	line = login.ReplaceAllString(line, "user@node-1")
	line = r.hosts.replace(line, r.networks)
	line = r.calendar.shift(line)
	line = r.networks.replace(line)
	line = identifiers(line)
	return strings.NewReplacer(nameBegins, "", nameEnds, "").Replace(r.replaceWords(line))
}

var (
	// login is a user at a host, as in a prompt or an address of mail.
	login = regexp.MustCompile(`\b[\w.-]+@[A-Za-z][\w-]*(?:\.[\w-]+)*`)
	// uuid is an identifier that some program made up.
	uuid = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	// longHex is a hash: of a communicator, a container, an actor. Pointers are shorter.
	longHex = regexp.MustCompile(`(^|[^0-9A-Za-z])(0x[0-9a-f]{15,}|[0-9a-f]{9,})\b`)
	// slurmJob is the number of a job in messages of Slurm.
	slurmJob = regexp.MustCompile(`\b((?:JOB|STEP) |StepId=)\d+`)
)

// identifiers replaces numbers that stand for one thing in the world.
func identifiers(line string) string {
	line = uuid.ReplaceAllStringFunc(line, sameForm)
	line = longHex.ReplaceAllStringFunc(line, func(found string) string {
		m := longHex.FindStringSubmatch(found)
		if strings.ContainsAny(m[2], "abcdef") && strings.ContainsAny(m[2], "123456789") {
			return m[1] + sameForm(m[2])
		}
		return found
	})
	return slurmJob.ReplaceAllString(line, "${1}1001")
}

// redactMachine replaces the identities and addresses in a recording, and words that are not known.
func (w words) redactMachine(text string) (string, *redactor) {
	r := &redactor{words: w, networks: networks{}, letters: map[string]string{}, unknown: map[string]int{}}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = r.replaceWords(identifiers(r.networks.replace(line)))
	}
	return strings.Join(lines, "\n"), r
}
