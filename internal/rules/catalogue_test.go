package rules

import (
	"slices"
	"testing"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/explain/causes"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/rules/clusterrules"
	"github.com/railhead/railhead/internal/rules/fleet"
	"github.com/railhead/railhead/internal/rules/machine"
)

// reports returns a report of every catalogue that Diagnose runs.
func reports() []check.Report {
	return []check.Report{
		clusterrules.Judge(cluster.State{}, clusterrules.Options{}),
		machine.Pod(host.Snapshot{}, machine.Options{}),
		machine.Node(host.Snapshot{}),
		machine.Watch(host.Snapshot{}, host.Snapshot{}),
		fleet.Judge(nil),
	}
}

// TestCausesExist asserts that every check that explains something is in a catalogue. Packages that cannot import each
// other name the checks of the other as literals.
func TestCausesExist(t *testing.T) {
	exists := map[check.ID]bool{}
	for _, r := range reports() {
		for _, f := range r.Findings {
			exists[f.Check] = true
		}
		for _, id := range r.Passed {
			exists[id] = true
		}
		for _, s := range r.Skipped {
			exists[s.Check] = true
		}
	}
	for _, r := range reports() {
		for id, causes := range r.ExplainedBy {
			for _, cause := range causes {
				if !exists[cause] {
					t.Errorf("%s is explained by %s, which is in no catalogue", id, cause)
				}
			}
		}
	}
	for _, e := range causes.Catalogue() {
		p := e.Proof()
		for _, id := range slices.Concat(p.ShownBy, p.ExcludedBy) {
			if !exists[id] {
				t.Errorf("%s is shown by %s, which is in no catalogue", e.ID, id)
			}
		}
	}
	for _, row := range explanations {
		if !exists[row.check] {
			t.Errorf("measurements are explained by %s, which is in no catalogue", row.check)
		}
	}
}
