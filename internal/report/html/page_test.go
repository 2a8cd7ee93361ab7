package html

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host/sysfs"
	"github.com/railhead/railhead/internal/rules"
	"github.com/railhead/railhead/internal/workload"
)

var keep = flag.String("keep", "", "folder for the pages and screenshots of the tests")

// recorded returns machines of testdata/hosts as pods of one job.
func recorded(t *testing.T, names ...string) []rules.Machine {
	t.Helper()
	var all []rules.Machine
	for _, name := range names {
		m, err := sysfs.Open("../../../testdata/hosts/" + name + ".txtar")
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, rules.Machine{Ref: check.PodRef("train", name), Node: name, Snapshot: m.Snapshot()})
	}
	return all
}

// pages returns the pages that the tests open in a browser, and that people look at.
func pages(t *testing.T) map[string]Page {
	four := withLadders(simulated(4, 8, slowNIC(2, 5, 0.24)))
	sixtyFour := withLadders(simulated(64, 8, slowNIC(17, 3, 0.5), badCable(4, 40, 6, 0.08)))
	machines := recorded(t, "pod-roce-4vf", "pod-roce-4vf-node-b", "pod-half-broken", "pod-no-address")
	diagnosed := FromDiagnosis(Diagnosed{
		Verdict: rules.Verdict{
			Subject:   workload.Subject{Job: "h-kim", Namespace: "train"},
			Diagnosis: rules.Diagnose(rules.Case{Machines: rules.JudgeAll(machines)}),
		},
		File:     "h-kim.tgz",
		Machines: machines,
		State:    rollingOut(),
	})
	diagnosed.Title += " (recorded machines)"
	return map[string]Page{
		"4-pods": Join(
			FromBench(four, "bench-4.json"),
			rolloutPage(),
		), "64-pods": FromBench(sixtyFour, "bench-64.json"), "diagnosis": diagnosed,
		"dead":    FromBench(deadLink(), "dead.json"),
		"begun":   FromBench(begun(), "begun.json"),
		"waiting": Waiting("bench.json: nothing was written to it yet"),
		"motion":  FromSeries(simulatedSeries(300, 180, 4096), "wire.json"),
		"healthy": FromBench(simulated(8, 4), "healthy.json"),
	}
}

// written writes the page to a file.
func written(t testing.TB, name string, p Page) string {
	t.Helper()
	folder := *keep
	if folder == "" {
		folder = t.TempDir()
	}
	var b bytes.Buffer
	if err := Write(&b, p); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(folder, name+".html")
	if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestPages(t *testing.T) {
	for name, p := range pages(t) {
		written(t, name, p)
	}
}
