package scan

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
)

// Ending is the end of a file, as far as it shows whether the run went on after an error.
type Ending struct {
	Line     int // the last one
	Own      int // the last one that the program wrote, and not NCCL at level INFO
	Progress int // the first of the last lines by which a training counts its steps; 0: there are none
}

// stepCount matches a number that a training program prints for its steps, in group 1 what it counts or measures.
var stepCount = regexp.MustCompile(`(?i)(?:^|[^a-z])(loss|steps?|iter(?:ation)?s?|epochs?|batch|lr|ppl|throughput|` +
	`samples|tokens|grad.norm)["']?(?: ?\([^()]*\))?[:=\[(|/ ]*["']?-?\d|` +
	`\d *(it/s|s/it|steps/s|samples/s|tok(?:en)?s?/s)`)

// bad are words of lines that count no progress, whatever they measure.
var bad = []string{
	"Error", "ERROR", "error:", "FATAL", "ailed", "FAILED", "exit", "abort", "timed out", `File "`, "NCCL ", "WARN",
}

// steps lines that count the same show progress: a process that ended leaves one or two of other ranks behind.
const steps = 3

// EndingOf reads the tail of a file, whose last line has the number.
func EndingOf(last int, tail Tail) Ending {
	e := Ending{Line: last}
	lines := tail.Lines()
	seen := map[string]int{}
	for i := len(lines) - 1; i >= 0 && (e.Own == 0 || e.Progress == 0); i-- {
		number := last - (len(lines) - 1 - i)
		if e.Own == 0 && len(bytes.TrimSpace(lines[i])) > 0 && !bytes.Contains(lines[i], infoWords) {
			e.Own = number
		}
		for part := range bytes.SplitSeq(lines[i], []byte{'\r'}) {
			if what := counts(part); what != "" && e.Progress == 0 {
				if seen[what]++; seen[what] == steps {
					e.Progress = number
				}
			}
		}
	}
	if e.Own == 0 {
		e.Own = max(last-len(lines), 0)
	}
	return e
}

// CountsSteps reports whether a line measures several things, as trainings do for their steps, or a rate of them. One
// number is common in other output: "epochs: 3", "Step 1/12 : FROM debian".
func CountsSteps(line []byte) bool {
	const all = 16
	first := ""
	for _, what := range measures(line, all) {
		switch {
		case strings.HasSuffix(what, "/s"), what == "s/it", first != "" && what != first:
			return true
		}
		first = what
	}
	return false
}

// counts returns what a line counts or measures, as trainings do for their steps, or "".
func counts(line []byte) string {
	if found := measures(line, 1); len(found) > 0 {
		return found[0]
	}
	return ""
}

// measures returns what a line counts or measures, up to a number of things.
func measures(line []byte, most int) (found []string) {
	const longest = 1 << 10
	line = line[:min(len(line), longest)]
	if slices.ContainsFunc(bad, func(word string) bool { return bytes.Contains(line, []byte(word)) }) {
		return nil
	}
	for _, m := range stepCount.FindAllSubmatch(line, most) {
		found = append(found, strings.ToLower(string(m[1])+string(m[2])))
	}
	return found
}
