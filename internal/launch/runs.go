package launch

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// Run is the state of a launch in one pod: its command runs, or has ended detached.
type Run struct {
	Target
	ID       string
	Running  bool // its processes are there
	Detached bool
	Started  time.Time // of a detached one, as the rest
	Code     *int      // nil: it runs, or ended without a code
	note
	dir string
}

// note is kept with a detached command.
type note struct {
	Command []string
	Settings
}

// noteOf returns the note of a rank's command as a line.
func (l *Session) noteOf(r *rank) string {
	text, _ := json.Marshal(note{ // strings only
		Command:  l.Command,
		Settings: r.settings,
	})
	return "note=" + string(text)
}

// CommandLine returns the command for people.
func (r Run) CommandLine() string { return commandLine(r.Command) }

func runsArguments() []string { return []string{"", "", SharedDir} }

// RunsCommand returns the command by which Runs asks a pod. SharedDir is its last word.
func RunsCommand() []string { return reading(runsScript, runsArguments()...) }

// Runs returns what launches left in the pods, by rank. The error names the pods that could not be read.
func Runs(ctx context.Context, p Pods, targets []Target) ([]Run, error) {
	found, errs := make([][]Run, len(targets)), make([]error, len(targets))
	var g errgroup.Group
	g.SetLimit(PodsAtOnce)
	for i, t := range targets {
		g.Go(func() error {
			const most = 1 << 20 // each run has its command, of which an argument has at most 128 KiB
			text, err := Read(ctx, p, t, most, runsScript, runsArguments()...)
			if found[i] = parseRuns(t, text); err != nil {
				errs[i] = fmt.Errorf("%s: %w", t, err)
			}
			return nil
		})
	}
	_ = g.Wait() // errs has the errors
	var all []Run
	for _, runs := range found {
		all = append(all, runs...)
	}
	return all, FirstErrors(errs, "rank")
}

func parseRuns(t Target, text string) []Run {
	var all []Run
	for part := range strings.SplitSeq("\n"+text, "\nid=") {
		values := parseAnswers("id=" + part)
		if values["id"] == "" {
			continue
		}
		r := Run{Target: t, ID: values["id"], Running: values["running"] != "", dir: values["dir"]}
		started, detached := values["started"]
		r.Detached = detached
		r.Started, _ = time.Parse(time.RFC3339Nano, started) // zero: not known
		_ = json.Unmarshal([]byte(values["note"]), &r.note)  // empty: not known
		code, _, _ := strings.Cut(values["exit"], " ")
		if n, err := strconv.Atoi(code); err == nil {
			r.Code = &n
		}
		all = append(all, r)
	}
	return all
}

// Newest returns the parts of the detached run that was started last.
func Newest(runs []Run) []Run {
	var newest Run
	for _, r := range runs {
		if r.Detached && !r.Started.Before(newest.Started) {
			newest = r
		}
	}
	var parts []Run
	for _, r := range runs {
		if r.Detached && r.ID == newest.ID {
			parts = append(parts, r)
		}
	}
	return parts
}
