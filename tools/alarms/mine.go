package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/nccllog/event"
	"github.com/railhead/railhead/internal/words"
)

// complaint is the form of a line.
type complaint struct {
	runs       int
	systems    map[string]bool // folders with the runs of one system
	frameworks map[string]bool
}

// framework reads what the log says of the software, as MLPerf prints it in front.
var framework = regexp.MustCompile(`"framework": ?"([^"]+)"`)

// words of a form that stand for nothing else than a failure, and the least number of others.
var wordsOfForm = regexp.MustCompile(`[A-Za-z]{3,}`)

// printComplaints prints the forms of vague complaints before the end of runs with success.
func printComplaints(out io.Writer, folders []string) error {
	const systems, runs, least, few = 2, 10, 4, 3
	all := map[string]*complaint{}
	for _, folder := range folders {
		err := each(folder, func(r logged) {
			if r.end != success {
				return
			}
			version := ""
			if m := framework.FindSubmatch(r.text); m != nil {
				version = string(m[1])
			}
			for form := range formsOf(r) {
				c := all[form]
				if c == nil {
					c = &complaint{systems: map[string]bool{}, frameworks: map[string]bool{}}
					all[form] = c
				}
				c.runs++
				c.systems[filepath.Dir(filepath.Dir(r.file))] = true
				if version != "" {
					c.frameworks[version] = true
				}
			}
		})
		if err != nil {
			return err
		}
	}
	for _, form := range slices.SortedFunc(maps.Keys(all), func(a, b string) int {
		return cmp.Or(all[b].runs-all[a].runs, strings.Compare(a, b))
	}) {
		c := all[form]
		if len(c.systems) < systems && c.runs < runs || len(wordsOfForm.FindAllString(form, -1)) < least {
			continue
		}
		fmt.Fprintf(out, "%d\t%d\t%s\t%s\n", c.runs, len(c.systems),
			words.Few(slices.Sorted(maps.Keys(c.frameworks)), few), form)
	}
	return nil
}

// formsOf returns the forms of a run's vague complaints: those of NCCL and of no level only before its end.
func formsOf(r logged) map[string]bool {
	forms := map[string]bool{}
	for _, e := range r.log.Events {
		if e.IsVague() && (e.Kind == event.Complaint || e.Seq < r.log.Finished.Seq) {
			text := e.Text
			if _, warning, ok := strings.Cut(text, "NCCL WARN "); ok {
				text = warning
			}
			forms[event.FormOf(text)] = true
		}
	}
	return forms
}
