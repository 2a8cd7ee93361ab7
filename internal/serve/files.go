package serve

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/internal/bundle"
	"github.com/railhead/railhead/internal/collect"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/host/sysfs"
	"github.com/railhead/railhead/internal/report/html"
	"github.com/railhead/railhead/internal/rules"
	"github.com/railhead/railhead/internal/wire"
	"github.com/railhead/railhead/internal/words"
)

// Files are the source of a page: results of benches, diagnoses, snapshots and recorded machines.
type Files struct {
	Names []string
	shown []string // state of the files when they were read
}

// Page reads all files. The machines make one diagnosis: they are compared with each other.
func (f *Files) Page(context.Context) (html.Page, error) {
	f.shown = f.state()
	var pages []html.Page
	var machines []rules.Machine
	for _, name := range f.Names {
		text, err := os.ReadFile(name)
		if err != nil && !errors.Is(err, syscall.EISDIR) { // a folder is the captured root of a machine
			return html.Page{}, fmt.Errorf("read %s: %w", name, cmp.Or(errors.Unwrap(err), err))
		}
		if err == nil && len(text) == 0 {
			return html.Page{}, fmt.Errorf("%s: %w", name, ErrEmpty)
		}
		read, err := readReport(name, text)
		if err != nil {
			return html.Page{}, fmt.Errorf("%s: %w", name, err)
		}
		if read.machine != nil {
			machines = append(machines, *read.machine)
		} else {
			pages = append(pages, read.page)
		}
	}
	if len(machines) > 0 {
		pages = append(pages, machinesPage(machines))
	}
	return html.Join(pages...), nil
}

// Follow reads the files again when one has changed. A file that cannot be read is still being written and will change
// again.
func (f *Files) Follow(ctx context.Context, show func(html.Page)) error {
	const pause = time.Second
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if slices.Equal(f.state(), f.shown) {
			continue
		}
		if page, err := f.Page(ctx); err == nil {
			show(page)
		}
	}
}

// state changes when a file does.
func (f *Files) state() []string {
	state := make([]string, len(f.Names))
	for i, name := range f.Names {
		if info, err := os.Stat(name); err == nil {
			state[i] = fmt.Sprint(info.Size(), info.ModTime())
		}
	}
	return state
}

// reading is the content of one file: a page, or a machine that is shown on one page with others.
type reading struct {
	page    html.Page
	machine *rules.Machine
}

// ErrEmpty means that a bench has just created its result file.
var ErrEmpty = errors.New("nothing was written to it yet")

var errNoReport = errors.New("it is neither an archive nor the JSON of a bench, a diagnosis, readings or a " +
	"snapshot, nor a recorded machine")

// readReport recognizes a file by its content.
func readReport(name string, text []byte) (reading, error) {
	short := filepath.Base(name)
	if collect.IsArchive(text) {
		b, err := bundle.Read(bytes.NewReader(text))
		return reading{page: bundlePage(b, short)}, err
	}
	if !collect.IsJSON(text) {
		machine, err := sysfs.Open(name)
		if err != nil {
			return reading{}, errNoReport
		}
		return machineReading(machine.Snapshot(), short), nil
	}
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(text, &keys); err != nil {
		return reading{}, fmt.Errorf("read it as JSON: %w", err)
	}
	has := func(names ...string) bool {
		return !slices.ContainsFunc(names, func(name string) bool { return keys[name] == nil })
	}
	switch {
	case has("minEfficiency", "pods"):
		r, err := bench.ReadResult(bytes.NewReader(text))
		return reading{page: html.FromBench(r, short)}, err
	case has("problems", "pods", "nodes"):
		v, err := parseVerdict(text)
		return reading{page: verdictPage(v, html.Diagnosed{File: short})}, err
	case has("rails", "points"):
		var s wire.Series
		err := json.Unmarshal(text, &s)
		if err = cmp.Or(err, s.Check()); err != nil {
			return reading{}, fmt.Errorf("not readings of 'railhead wire': %w", err)
		}
		return reading{page: html.FromSeries(s, short)}, nil
	case has("schemaVersion"):
		s, err := collect.ParseSnapshot(text)
		return machineReading(s, short), err
	}
	return reading{}, errNoReport
}

func parseVerdict(text []byte) (collect.Verdict, error) {
	var v collect.Verdict
	if err := json.Unmarshal(text, &v); err != nil {
		return v, fmt.Errorf("not a diagnosis: %w", err)
	}
	if v.SchemaVersion > rules.DiagnosisSchema {
		return v, collect.NewerSchema(v.SchemaVersion, rules.DiagnosisSchema)
	}
	return v, nil
}

func machineReading(s host.Snapshot, file string) reading {
	m := collect.MachineOf(s, file)
	return reading{machine: &m}
}

func machinesPage(machines []rules.Machine) html.Page {
	v := collect.Judge(bundle.Bundle{}, rules.JudgeAll(machines), false)
	return verdictPage(v, html.Diagnosed{Machines: machines, Taken: machines[0].Snapshot.Taken})
}

func bundlePage(b bundle.Bundle, file string) html.Page {
	page := verdictPage(collect.Judge(b, rules.JudgeAll(b.Machines), false), html.Diagnosed{
		File:     file,
		Taken:    b.Manifest.Taken,
		Machines: b.Machines,
		State:    b.State,
	})
	if b.Bench != nil { // its findings are among the problems
		measured := html.FromBench(*b.Bench, file)
		page.Links, page.Failures = measured.Links, measured.Failures
	}
	return page
}

func verdictPage(v collect.Verdict, seen html.Diagnosed) html.Page {
	seen.Diagnosis, seen.Story, seen.Title = v.Diagnosis, v.Log, v.Title()
	if !v.Subject.Named() {
		switch {
		case len(seen.Machines) == 1:
			seen.Title = seen.Machines[0].Ref.String()
		case v.Pods > 0:
			seen.Title = words.Count(v.Pods, "pod")
		default:
			seen.Title = words.Count(v.Nodes, "node")
		}
	}
	return html.FromDiagnosis(seen)
}
