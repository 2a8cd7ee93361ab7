package prefix

import (
	"bytes"
	"regexp"
)

// mpirunTime is the time of mpirun --timestamp-output, "Sat Nov 28 14:32:41 2026", without a blank behind it.
const mpirunTime = `[A-Z][a-z][a-z] [A-Z][a-z][a-z] [ \d]\d \d\d:\d\d:\d\d \d{4}`

// tag matches what Open MPI 4.1 prints in front of each piece that a process writes, with --tag-output,
// --timestamp-output or both.
var tag = regexp.MustCompile(`(?:` + mpirunTime + `)?((?:\[\d+,\d+\])?<std(?:out|err|diag)>:)`)

// Untagged returns a line without the tags that Open MPI put into it: it begins a new piece after at most 4,096 bytes,
// and wherever the process wrote in several parts. The tag in front of the line stays, and so do tags of other
// processes.
func Untagged(line []byte) []byte {
	const name = "<std"
	if bytes.Count(line, []byte(name)) < 2 {
		return line
	}
	first := tag.FindSubmatchIndex(line)
	if first == nil || first[0] != 0 {
		return line
	}
	own := line[first[2]:first[3]]
	whole := append([]byte{}, line[:first[1]]...)
	rest := line[first[1]:]
	for {
		next := tag.FindSubmatchIndex(rest)
		switch {
		case next == nil:
			return append(whole, rest...)
		case !bytes.Equal(own, rest[next[2]:next[3]]):
			whole = append(whole, rest[:next[1]]...)
		default:
			whole = append(whole, rest[:next[0]]...)
		}
		rest = rest[next[1]:]
	}
}

// withoutTime returns a line without the time of mpirun, which has a tag behind it.
func withoutTime(line []byte) []byte {
	const long = len("Sat Nov 28 14:32:41 2026")
	if len(line) > long && (line[long] == '[' || line[long] == '<') && tag.Match(line[:min(len(line), 64)]) {
		return line[long:]
	}
	return line
}
