package fault

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/host/sysfs"
	"github.com/railhead/railhead/internal/rules"
	"github.com/railhead/railhead/internal/rules/machine"
)

// TestRecordings: what a machine looks like with each fault is a recording of the fast tests, and the list of them
// names it.
func TestRecordings(t *testing.T) {
	const folder = "../../../testdata/hosts/"
	list, err := os.ReadFile(folder + "README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range All() {
		if f.Nodes || f.Namespace != "" {
			continue // of clusters and of pods
		}
		name := "lab-" + f.Name
		text, err := os.ReadFile(folder + name + ".txtar")
		if err != nil {
			t.Error(err)
			continue
		}
		if first, _, _ := strings.Cut(string(text), "\n"); !strings.Contains(first, f.Title) {
			t.Errorf("%s begins with %q, not with %q: record it anew", name, first, f.Title)
		}
		if !strings.Contains(string(list), "| "+name+" | ") {
			t.Errorf("README.md does not name %s", name)
		}
	}
}

// TestDoctor: of the recordings doctor says what the catalogue has it say, and nothing else from any other place.
func TestDoctor(t *testing.T) {
	healthy, peer := recorded(t, "healthy"), recorded(t, "healthy-peer")
	before := diagnosed(healthy, peer)
	for _, f := range All() {
		if f.Nodes || f.Namespace != "" {
			continue // of clusters and of pods
		}
		named := f.Doctor.View == Measured || f.Doctor.View == Counted // which one look does not show
		for view, found := range diagnosed(recorded(t, f.Name), peer) {
			for i, id := range slices.DeleteFunc(found, func(id check.ID) bool { return slices.Contains(before[view], id) }) {
				named = named || i == 0 && view == f.Doctor.View && id == f.Doctor.Check
				if id != f.Doctor.Check && (f.Name != "rdma-exclusive" || view != OnNode) { // which was recorded in the pod's network namespace
					t.Errorf("%s: %s, doctor says %s, too", f.Name, view, id)
				}
			}
		}
		if !named {
			t.Errorf("%s: %s, doctor does not name %s first", f.Name, f.Doctor.View, f.Doctor.Check)
		}
	}
}

func recorded(t *testing.T, name string) host.Snapshot {
	t.Helper()
	m, err := sysfs.Open("../../../testdata/hosts/lab-" + name + ".txtar")
	if err != nil {
		t.Fatal(err)
	}
	return m.Snapshot()
}

// diagnosed are the checks that doctor names for a machine, and for it and its peer.
func diagnosed(s, peer host.Snapshot) map[View][]check.ID {
	of := func(r check.Report) (ids []check.ID) {
		for _, f := range r.AtLeast(check.Unknown) {
			ids = append(ids, f.Check)
		}
		return ids
	}
	all := map[View][]check.ID{InPod: of(machine.Pod(s, machine.Options{})), OnNode: of(machine.Node(s))}
	both := rules.Diagnose(rules.Case{Machines: rules.JudgeAll([]rules.Machine{
		{Ref: check.PodRef("t", "a"), Group: "job/t", Snapshot: s},
		{Ref: check.PodRef("t", "b"), Group: "job/t", Snapshot: peer},
	})})
	for _, p := range both.Problems {
		all[Together] = append(all[Together], p.Check)
	}
	return all
}
