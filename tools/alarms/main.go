// Alarms counts how often `railhead explain` calls a healthy run anything else than ok. It reads whole logs of runs that
// say themselves how they ended: those of MLPerf, whose last line with run_stop has the status success or aborted.
//
//	go run ./tools/alarms [-list] FOLDER...
//
// Each FOLDER is searched for files named result_*.txt, as the public repositories mlcommons/training_results_v5.1 and
// the like have them. -list prints a line for each run with success that is not called ok, and for each run without
// that is: the file, the outcome, the first cause and its line.
package main

import (
	"bytes"
	"cmp"
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
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() == 0 {
		return errors.New("name folders with logs")
	}
	table := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "runs\tok\tfallback\tdegraded\tfail\tunknown\tshare of ok\t")
	for _, folder := range flags.Args() {
		counted, err := count(folder, func(m miss) {
			if *list {
				fmt.Fprintln(stdout, m)
			}
		})
		if err != nil {
			return err
		}
		for _, e := range ends {
			if all := counted[e].all(); all > 0 {
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

var ends = []end{success, aborted, none}

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

// miss is a run that is not judged as it ended.
type miss struct {
	file string
	end  end
	run  story.Run
}

func (m miss) String() string {
	cause, line := "-", ""
	if len(m.run.Causes) > 0 {
		c := m.run.Causes[0]
		cause = string(c.ID)
		if len(c.Evidence) > 0 {
			line = fmt.Sprintf("%d: %s", c.Evidence[0].Line, c.Evidence[0].Text)
		}
	}
	return strings.Join([]string{m.file, string(m.end), string(m.run.Outcome), cause, line}, "\t")
}

// count judges the logs of a folder.
func count(folder string, missed func(miss)) (map[end]tally, error) {
	counted := map[end]tally{}
	for _, e := range ends {
		counted[e] = tally{}
	}
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		name := entry.Name()
		if err != nil || entry.IsDir() || !strings.HasPrefix(name, "result_") || filepath.Ext(name) != ".txt" {
			return err
		}
		log, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var parser nccllog.Parser
		if _, err := parser.Read(path, bytes.NewReader(log)); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		told, ended := explain.Log(parser.Log()).Last(), endOf(log)
		counted[ended][told.Outcome]++
		if (ended == success) != (told.Outcome == story.OutcomeOK) {
			missed(miss{path, ended, told})
		}
		return nil
	})
	if err == nil && cmp.Or(counted[success].all(), counted[aborted].all(), counted[none].all()) == 0 {
		err = fmt.Errorf("%s: no file is named result_*.txt", folder)
	}
	return counted, err
}
