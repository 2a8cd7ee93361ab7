// Alarms counts how often `railhead explain` calls a healthy run anything else than ok, and collects the complaints
// that healthy runs have. It reads whole logs of runs that say themselves how they ended: those of MLPerf, whose last
// line with run_stop has the status success or aborted.
//
//	go run ./tools/alarms [-list] FOLDER...
//	go run ./tools/alarms -mine FOLDER... > internal/nccllog/event/benign.tsv
//
// Each FOLDER is searched for files named result_*.txt, as the public repositories mlcommons/training_results_v5.1 and
// the like have them. -list prints a line for each run with success that is not called ok, and for each run without
// that is: the file, the outcome, the first cause and its line.
//
// -mine prints the forms of the complaints that two systems or ten runs logged, which ended with success.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/railhead/railhead/internal/explain"
	"github.com/railhead/railhead/internal/nccllog"
	"github.com/railhead/railhead/internal/story"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "alarms:", err)
		os.Exit(1)
	}
}

func run(args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("alarms", flag.ContinueOnError)
	list := flags.Bool("list", false, "print the runs that are not judged as they ended")
	mine := flags.Bool("mine", false, "print the complaints of runs with success")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() == 0 {
		return errors.New("name folders with logs")
	}
	if *mine {
		return printComplaints(stdout, flags.Args())
	}
	table := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "runs\tok\tfallback\tdegraded\tfail\tunknown\tshare of ok\t")
	for _, folder := range flags.Args() {
		counted := map[end]tally{success: {}, aborted: {}, none: {}}
		err := each(folder, func(r logged) {
			counted[r.end][r.run.Outcome]++
			if *list && (r.end == success) != (r.run.Outcome == story.OutcomeOK) {
				fmt.Fprintln(stdout, r)
			}
		})
		if err != nil {
			return err
		}
		for _, e := range []end{success, aborted, none} {
			if counted[e].all() > 0 {
				counted[e].print(table, fmt.Sprintf("%s, %s", filepath.Base(folder), e))
			}
		}
	}
	return table.Flush()
}

// end is how a run says that it ended.
type end string

const (
	success end = "with success"
	aborted end = "aborted"
	none    end = "without an end"
)

// endOf reads the last line with run_stop.
func endOf(log []byte) end {
	i := bytes.LastIndex(log, []byte(`"run_stop"`))
	if i < 0 {
		return none
	}
	line, _, _ := bytes.Cut(log[i:], []byte{'\n'})
	if bytes.Contains(line, []byte(`"status": "success"`)) {
		return success
	}
	return aborted
}

// tally counts the outcomes of runs.
type tally map[story.Outcome]int

func (t tally) all() (n int) {
	for _, count := range t {
		n += count
	}
	return n
}

func (t tally) print(w io.Writer, name string) {
	fmt.Fprintf(w, "%d\t", t.all())
	for _, o := range []story.Outcome{
		story.OutcomeOK, story.OutcomeFallback, story.OutcomeDegraded, story.OutcomeFail, story.OutcomeUnknown,
	} {
		fmt.Fprintf(w, "%d\t", t[o])
	}
	fmt.Fprintf(w, "%.2f %%\t  %s\n", 100*float64(t[story.OutcomeOK])/float64(t.all()), name)
}

// logged is a run with its log.
type logged struct {
	file string
	text []byte
	end  end
	log  nccllog.Run
	run  story.Run
}

func (r logged) String() string {
	cause, line := "-", ""
	if len(r.run.Causes) > 0 {
		c := r.run.Causes[0]
		cause = string(c.ID)
		if len(c.Evidence) > 0 {
			line = fmt.Sprintf("%d: %s", c.Evidence[0].Line, c.Evidence[0].Text)
		}
	}
	return strings.Join([]string{r.file, string(r.end), string(r.run.Outcome), cause, line}, "\t")
}

// each judges the logs of a folder.
func each(folder string, take func(logged)) error {
	n := 0
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		if name := entry.Name(); !strings.HasPrefix(name, "result_") || filepath.Ext(name) != ".txt" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var parser nccllog.Parser
		if _, err := parser.Read(path, bytes.NewReader(text)); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		log := parser.Log()
		n++
		take(logged{path, text, endOf(text), log.Runs[len(log.Runs)-1], explain.Log(log).Last()})
		return nil
	})
	if err == nil && n == 0 {
		err = fmt.Errorf("%s: no file is named result_*.txt", folder)
	}
	return err
}
