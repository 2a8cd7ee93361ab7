package report_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/report"
	"github.com/railhead/railhead/internal/rules"
	"github.com/railhead/railhead/internal/wire"
)

var update = flag.Bool("update", false, "write the golden files again")

// TestRecordedWires: `railhead wire` and `railhead doctor` on recorded machines of the lab that send to each other, each
// with one fault. testdata/wire/README.md says how to record them again.
func TestRecordedWires(t *testing.T) {
	recordings, err := filepath.Glob("../../testdata/wire/*.json")
	if err != nil || len(recordings) == 0 {
		t.Fatalf("no recordings: %v", err)
	}
	for _, file := range recordings {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		t.Run(name, func(t *testing.T) {
			golden := strings.TrimSuffix(file, ".json") + ".txt"
			got := tells(t, file)
			if *update {
				if err := os.WriteFile(golden, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", golden, diff)
			}
		})
	}
}

// tells returns the text of both commands on the machines of a recording, as the pods of one job.
func tells(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var pods map[string]host.Snapshot
	if err := json.Unmarshal(text, &pods); err != nil {
		t.Fatal(err)
	}
	var machines []rules.Machine
	var members []wire.Member
	for node, s := range pods {
		m := rules.Machine{Ref: check.PodRef("train", node), Node: node, Group: "job/train", Snapshot: s}
		machines = append(machines, m)
		members = append(members, wire.Member{Ref: m.Ref, Node: node, Motion: wire.Of(s)})
	}
	slices.SortFunc(machines, func(a, b rules.Machine) int { return strings.Compare(a.Node, b.Node) })
	slices.SortFunc(members, func(a, b wire.Member) int { return strings.Compare(a.Node, b.Node) })
	var out bytes.Buffer
	if err := report.Wire(&out, wire.Together(members, true)); err != nil {
		t.Fatal(err)
	}
	judged := rules.JudgeAll(machines)
	for i := range judged {
		judged[i].Whole = true
	}
	for _, p := range rules.Diagnose(rules.Case{Machines: judged}).Problems {
		report.Line(&out, "doctor: %s %s: %s", p.Status, p.Check, p.Summary)
	}
	return out.Bytes()
}
