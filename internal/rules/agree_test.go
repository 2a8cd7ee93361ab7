package rules

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/explain"
	"github.com/railhead/railhead/internal/explain/causes"
	"github.com/railhead/railhead/internal/nccllog"
	"github.com/railhead/railhead/internal/rules/rulestest"
	"github.com/railhead/railhead/internal/story"
)

// TestExplainAgreesWithDoctor: explain --with says of no recorded machine the opposite of what doctor finds on it. What
// it is certain of by a machine, a check found there; what it leaves out, no check found.
func TestExplainAgreesWithDoctor(t *testing.T) {
	machines, logs := recordedMachines(t), recordedLogs(t)
	decided := map[string]int{}
	for name, log := range logs {
		alone := causesOf(explain.Log(log).Last())
		for _, m := range machines {
			with := causesOf(explain.Log(log, m).Last())
			for _, e := range causes.Catalogue() {
				before, suspected := alone[e.ID]
				after, kept := with[e.ID]
				weight, f, _ := e.Proof().Weigh([]check.Report{m.Report})
				switch {
				case !suspected:
				case weight == check.Shown && (!kept || after.Confidence != story.Certain || !strings.Contains(after.Summary, f.Summary)):
					t.Errorf("%s with %s: doctor finds %s, and explain says of %s: %q", name, m.Name, f.Check, e.ID,
						after.Summary)
				case weight != check.Shown && kept && after.Confidence == story.Certain && before.Confidence != story.Certain:
					t.Errorf("%s with %s: doctor finds nothing that shows %s, of which explain is certain", name,
						m.Name, e.ID)
				case weight == check.Shown:
					decided["shown"]++
				case weight == check.Excluded:
					decided["excluded"]++
				}
			}
		}
	}
	if decided["shown"] == 0 || decided["excluded"] == 0 {
		t.Errorf("%d machines and %d logs decide nothing: %v", len(machines), len(logs), decided)
	}
}

// recordedMachines returns all machines of testdata, as pods and as nodes.
func recordedMachines(t *testing.T) []explain.Machine {
	paths, err := filepath.Glob("../../testdata/hosts/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatal("no machines", err)
	}
	var all []Judged
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".txtar")
		s := rulestest.Recorded(t, name)
		all = append(all, Judge(Machine{Ref: check.PodRef("train", name), Snapshot: s}),
			Judge(Machine{Ref: check.NodeRef(name), Snapshot: s}))
	}
	return ForLogs(all)
}

// recordedLogs returns the logs of testdata.
func recordedLogs(t *testing.T) map[string]nccllog.Log {
	paths, err := filepath.Glob("../../testdata/logs/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatal("no logs", err)
	}
	logs := map[string]nccllog.Log{}
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var p nccllog.Parser
		for _, f := range archive.Files {
			if _, err := p.Read(f.Name, strings.NewReader(string(f.Data))); err != nil {
				t.Fatal(err)
			}
		}
		logs[filepath.Base(path)] = p.Log()
	}
	return logs
}

func causesOf(r story.Run) map[story.CauseID]story.Cause {
	all := map[story.CauseID]story.Cause{}
	for _, c := range slices.Backward(r.Causes) {
		all[c.ID] = c
	}
	return all
}
