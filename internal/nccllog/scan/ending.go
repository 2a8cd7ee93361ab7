package scan

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/railhead/railhead/internal/lines"
	"github.com/railhead/railhead/internal/nccllog/prefix"
)

// Ending is the end of a file, as far as it shows whether the run went on after an error.
type Ending struct {
	Line     int // the last one
	Own      int // the last one that the program wrote, and not NCCL at level INFO
	Progress int // the first of the last lines by which a training counts its steps; 0: there are none
	Advanced int // the last line after which a counter of steps still had several values; 0: there are none

	Stepped time.Time     // of the last step; zero if no line has a time
	Pace    time.Duration // the longest time between two of the last steps
	UTC     bool          // Stepped is in UTC; otherwise in the time of the machine

	Said    time.Time      // of the last line with a time that is no complaint
	Writers map[string]int // by the label of a process: the first of its last ten lines that are no complaints
}

// SinceStep returns the time from the last step to a time of the machine, which is negative if steps follow. If the
// steps are in UTC, the machine's time zone is unknown: zones differ by quarters of an hour.
func (e Ending) SinceStep(t time.Time) (time.Duration, bool) {
	if e.Stepped.IsZero() || t.IsZero() || (t.Year() == 0) != (e.Stepped.Year() == 0) {
		return 0, false
	}
	since := t.Sub(e.Stepped)
	if e.UTC {
		const zone = 15 * time.Minute
		since = (since%zone + zone) % zone
		if since > zone/2 {
			since -= zone
		}
	}
	return since, true
}

// Usual returns the longest time between two steps that is no sign of a hang.
func (e Ending) Usual() time.Duration {
	const shortest, several = 15 * time.Second, 3
	return max(several*e.Pace, shortest)
}

// stepCount matches a number that a training program prints for its steps, in group 1 what it counts or measures.
var stepCount = regexp.MustCompile(`(?i)(?:^|[^a-z])(loss|steps?|iter(?:ation)?s?|epochs?|batch|lr|ppl|throughput|` +
	`samples|tokens|grad.norm)["']?(?: ?\([^()]*\))?(?:, "value")?[:=\[(|/ ]*["']?-?(\d[\d.,]*)|` +
	`\d *(it/s|s/it|steps/s|samples/s|tok(?:en)?s?/s)`)

// bad are words of lines that count no progress, whatever they measure.
var bad = []string{
	"Error", "ERROR", "error:", "FATAL", "ailed", "FAILED", "exit", "abort", "timed out", `File "`, "NCCL ", "WARN",
}

// steps lines that count the same show progress: a process that ended leaves one or two of other ranks behind.
const steps = 3

// EndingOf reads the tail of a file, whose last line has the number.
func EndingOf(last int, tail Tail) Ending {
	c := counter{
		Ending: Ending{Line: last, Writers: map[string]int{}},
		seen:   map[string]int{}, values: map[string]map[string]bool{}, written: map[string]int{},
	}
	all := tail.Lines()
	for i := len(all) - 1; i >= 0; i-- {
		number := last - (len(all) - 1 - i)
		if c.Own == 0 && len(bytes.TrimSpace(all[i])) > 0 && !bytes.Contains(all[i], infoWords) {
			c.Own = number
		}
		c.wrote(number, all[i])
		for part := range bytes.SplitSeq(all[i], []byte{'\r'}) {
			c.add(number, part)
		}
	}
	if c.Own == 0 {
		c.Own = max(last-len(all), 0)
	}
	if c.Progress == 0 {
		c.Progress = countsInSeries(last, tail)
	}
	return c.Ending
}

// CountsAtEnd reports whether the last lines of a file count steps in a form that names none.
func CountsAtEnd(last int, tail Tail) bool { return countsInSeries(last, tail) > 0 }

// counter reads the last lines of a file, the last one first.
type counter struct {
	Ending
	written map[string]int             // lines by their label
	seen    map[string]int             // lines by what they count
	values  map[string]map[string]bool // of counters
	timed   int                        // steps with a time
	next    time.Time                  // of the step after
}

// wrote counts the lines of a process that its label names, "(RayWorker pid=12, ip=10.0.0.3)", without complaints and
// stacks.
func (c *counter) wrote(number int, line []byte) {
	const several, mostLabels = 10, 256
	if bytes.IndexByte(line, '\x1b') >= 0 {
		line = lines.Clean(nil, line)
	}
	if c.Said.IsZero() && !hasAny(line, bad) && !bytes.Contains(line, []byte("CANCELLED")) {
		c.Said = prefix.TimeOf(string(line[:min(len(line), longest)]))
	}
	label, _ := prefix.LabelOf(line)
	if !bytes.Contains(label, []byte("pid=")) || hasAny(line, bad) || len(c.written) > mostLabels {
		return
	}
	key := string(label)
	if c.written[key]++; c.written[key] == several {
		c.Writers[key] = number
	}
}

func (c *counter) add(number int, line []byte) {
	found := measures(line, 1)
	if len(found) == 0 {
		return
	}
	if c.Progress == 0 {
		if c.seen[found[0]]++; c.seen[found[0]] == steps {
			c.Progress = number
		}
	}
	if c.Advanced == 0 {
		c.count(number, line)
	}
	const few = 16
	at, utc := stepTime(line)
	if at.IsZero() || c.timed == few {
		return
	}
	if c.timed++; c.timed == 1 {
		c.Stepped, c.UTC = at, utc
	} else if utc == c.UTC {
		c.Pace = max(c.Pace, c.next.Sub(at))
	}
	c.next = at
}

// steady matches a counter of steps, with its name in group 1 and its value in group 2, and in group 3 the steps that
// are done of all steps.
var steady = regexp.MustCompile(`(?i)(?:^|[^a-z])(steps?|iter(?:ation)?s?|epochs?|batch|samples|tokens)` +
	`["']?(?: ?\([^()]*\))?[:=\[(|/ ]*["']?(\d+)|(\d+)/\d+`)

// count counts the values of counters.
func (c *counter) count(number int, line []byte) {
	const most = 4
	for _, m := range steady.FindAllSubmatch(line, most) {
		name := strings.ToLower(string(m[1]))
		if c.values[name] == nil {
			c.values[name] = map[string]bool{}
		}
		if c.values[name][string(m[2])+string(m[3])] = true; len(c.values[name]) >= steps {
			c.Advanced = number
		}
	}
}

// stepTime returns the time at the beginning of a line, or of MLPerf's format, which is in UTC.
func stepTime(line []byte) (t time.Time, utc bool) {
	const longest = 200
	_, ms, _ := strings.Cut(string(line[:min(len(line), longest)]), `"time_ms": `)
	ms, _, found := strings.Cut(ms, ",")
	if since1970, err := strconv.ParseInt(ms, 10, 64); found && err == nil {
		return time.UnixMilli(since1970).UTC(), true
	}
	return prefix.TimeOf(string(line)), false
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

// measures returns what a line counts or measures, up to a number of things.
func measures(line []byte, count int) (found []string) {
	const most = 1 << 10
	line = line[:min(len(line), most)]
	if hasAny(line, bad) {
		return nil
	}
	for _, m := range stepCount.FindAllSubmatch(line, count) {
		found = append(found, strings.ToLower(string(m[1])+string(m[3])))
	}
	return found
}
