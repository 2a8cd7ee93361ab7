package rules

import (
	"testing"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/rules/rulestest"
)

// checksOf returns the status and check of each problem.
func checksOf(d Diagnosis) []string {
	var all []string
	for _, p := range d.Problems {
		all = append(all, p.Status.String()+" "+string(p.Check))
	}
	return all
}

// single returns a case of one pod or node and nothing else.
func single(ref check.Ref, s host.Snapshot) Case {
	return Case{Machines: JudgeAll([]Machine{{Ref: ref, Node: "gpu-0", Snapshot: s}})}
}

// changed returns a recorded machine with a change.
func changed(t testing.TB, recording string, change func(*host.Snapshot)) host.Snapshot {
	t.Helper()
	s := rulestest.Recorded(t, recording)
	change(&s)
	return s
}
