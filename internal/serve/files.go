package serve

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/railhead/railhead/internal/bundle"
	"github.com/railhead/railhead/internal/collect"
	"github.com/railhead/railhead/internal/report/html"
	"github.com/railhead/railhead/internal/rules"
	"github.com/railhead/railhead/internal/saved"
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
		file, err := saved.Read(name, func(m rules.Machine) rules.Machine { return m })
		if err != nil {
			return html.Page{}, fmt.Errorf("%s: %w", name, err)
		}
		if page, ok := pageOf(file, filepath.Base(name)); ok {
			pages = append(pages, page)
		} else {
			machines = append(machines, file.Machines...)
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

// pageOf returns the page of a file; false if it is of a machine, which is shown on one page with others.
func pageOf(f saved.File[rules.Machine], name string) (html.Page, bool) {
	switch {
	case f.Bundle != nil:
		f.Bundle.Machines = f.Machines
		return bundlePage(*f.Bundle, name), true
	case f.Result != nil:
		return html.FromBench(*f.Result, name), true
	case f.Verdict != nil:
		return html.FromDiagnosis(html.Diagnosed{Verdict: *f.Verdict, File: name}), true
	case f.Series != nil:
		return html.FromSeries(*f.Series, name), true
	}
	return html.Page{}, false
}

func machinesPage(machines []rules.Machine) html.Page {
	v := collect.Judge(bundle.Bundle{}, rules.JudgeAll(machines), false)
	return html.FromDiagnosis(html.Diagnosed{Verdict: v, Machines: machines, Taken: machines[0].Snapshot.Taken})
}

func bundlePage(b bundle.Bundle, file string) html.Page {
	page := html.FromDiagnosis(html.Diagnosed{
		Verdict:  collect.Judge(b, rules.JudgeAll(b.Machines), false),
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
