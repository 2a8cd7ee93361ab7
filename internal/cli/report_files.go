package cli

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
	"strings"
	"syscall"
	"time"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/internal/bundle"
	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/examine"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/host/sysfs"
	"github.com/railhead/railhead/internal/logsource"
	"github.com/railhead/railhead/internal/report/html"
	"github.com/railhead/railhead/internal/rules"
	"github.com/railhead/railhead/internal/words"
)

// files that a page is made from.
type files struct {
	names []string
	shown []string // their state when they were read
}

// page reads all of them. Machines make one diagnosis: they are compared with each other.
func (f *files) page(context.Context) (html.Page, error) {
	f.shown = f.state()
	var pages []html.Page
	var machines []rules.Machine
	for _, name := range f.names {
		text, err := os.ReadFile(name)
		if err != nil && !errors.Is(err, syscall.EISDIR) { // a folder is the captured root of a machine
			return html.Page{}, fmt.Errorf("read %s: %w", name, cmp.Or(errors.Unwrap(err), err))
		}
		if err == nil && len(text) == 0 {
			return html.Page{}, fmt.Errorf("%s: %w", name, errEmpty)
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

// follow looks every second whether a file is another one. One that cannot be read is being written, and then changes
// again.
func (f *files) follow(ctx context.Context, show func(html.Page)) error {
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
		if page, err := f.page(ctx); err == nil {
			show(page)
		}
	}
}

// state shows whether a file has changed.
func (f *files) state() []string {
	state := make([]string, len(f.names))
	for i, name := range f.names {
		if about, err := os.Stat(name); err == nil {
			state[i] = fmt.Sprint(about.Size(), about.ModTime())
		}
	}
	return state
}

// reading is the content of one file: a page, or a machine that forms one with others.
type reading struct {
	page    html.Page
	machine *rules.Machine
}

// errEmpty means that a bench has just created its result file.
var errEmpty = errors.New("nothing was written to it yet")

var errNoReport = errors.New("it is neither an archive nor the JSON of a bench, a diagnosis or a snapshot, nor a recorded machine")

// readReport recognizes a file by its content.
func readReport(name string, text []byte) (reading, error) {
	short := filepath.Base(name)
	if bytes.HasPrefix(text, []byte("\x1f\x8b")) { // gzip
		b, err := bundle.Read(bytes.NewReader(text))
		return reading{page: bundlePage(b, short)}, err
	}
	if !bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) {
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
	case has("schemaVersion"):
		s, err := parseSnapshot(text)
		return machineReading(s, short), err
	}
	return reading{}, errNoReport
}

func parseVerdict(text []byte) (doctorVerdict, error) {
	var v doctorVerdict
	if err := json.Unmarshal(text, &v); err != nil {
		return v, fmt.Errorf("no diagnosis: %w", err)
	}
	if v.SchemaVersion > rules.DiagnosisSchema {
		return v, fmt.Errorf("it has schemaVersion %d, and this railhead knows %d: use a newer railhead", v.SchemaVersion, rules.DiagnosisSchema)
	}
	return v, nil
}

// machineReading names a machine: what has a container runtime is a node.
func machineReading(s host.Snapshot, file string) reading {
	name := cmp.Or(s.Pod.Value, strings.TrimSuffix(file, filepath.Ext(file)))
	m := rules.Machine{Ref: check.PodRef(s.Namespace.Value, name), Node: s.Node.Value, Snapshot: s}
	if s.Runtime != nil {
		m.Ref = check.NodeRef(cmp.Or(s.Node.Value, name))
	}
	return reading{machine: &m}
}

func machinesPage(machines []rules.Machine) html.Page {
	d := rules.Diagnose(rules.Case{Machines: machines})
	return verdictPage(doctorVerdict{Diagnosis: d}, html.Diagnosed{Machines: machines, Taken: machines[0].Snapshot.Taken})
}

// bundlePage returns the page of a bundle.
func bundlePage(b bundle.Bundle, file string) html.Page {
	v := doctorVerdict{Subject: b.Manifest.Subject, Diagnosis: diagnose(b, false)}
	if len(b.Logs) > 0 {
		logs := logsource.Archived(b.Logs, snapshotsOf(b.Machines))
		v.Log = &logs
	}
	page := verdictPage(v, html.Diagnosed{File: file, Taken: b.Manifest.Taken, Machines: b.Machines, State: b.State})
	if b.Bench != nil { // what it found is among the problems
		measured := html.FromBench(*b.Bench, file)
		page.Links, page.Failures = measured.Links, measured.Failures
	}
	return page
}

// verdictPage is the page of a verdict and what it is about.
func verdictPage(v doctorVerdict, seen html.Diagnosed) html.Page {
	seen.Diagnosis, seen.Story, seen.Title = v.Diagnosis, v.Log, v.about()
	if seen.Title == "Namespace " { // nobody asked about anything
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

// watched is a cluster: its machines were looked at once, its objects are followed.
type watched struct {
	app  *app
	seen bundle.Bundle
}

func (w *watched) page(context.Context) (html.Page, error) { return bundlePage(w.seen, ""), nil }

// follow judges anew whenever the cluster changes, at most once in a while: a verdict on a thousand machines takes a
// second.
func (w *watched) follow(ctx context.Context, show func(html.Page)) error {
	client, err := w.app.connect(ctx)
	if err != nil {
		return err
	}
	want := examine.Want(w.seen.Manifest.Subject)
	states := make(chan cluster.State, 1)
	go func() {
		defer close(states)
		away := ""
		for state, err := range client.Watch(ctx, want) {
			if err != nil {
				if err.Error() != away {
					away = err.Error()
					w.app.say("%s", away)
				}
				continue
			}
			select {
			case <-states: // the older one is not wanted any more
			default:
			}
			states <- state
		}
	}()
	const pause = time.Second
	for state := range states {
		b := w.seen
		b.State, b.Manifest.Taken = state, time.Now().UTC()
		show(bundlePage(bundle.Clean(b), ""))
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
	return nil
}
