package saved

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/rules"
)

// TestReadMachine: a snapshot, a recording and the folder of a captured root are one machine each.
func TestReadMachine(t *testing.T) {
	folder := t.TempDir()
	snapshot := filepath.Join(folder, "pod-7.json")
	if err := os.WriteFile(snapshot, []byte(`{"schemaVersion": 1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]check.Ref{
		snapshot: check.PodRef("", "pod-7"),
		"../../testdata/hosts/host-baremetal-8x400.txtar": check.PodRef("training", "gpu-node-17"),
	} {
		f, err := Read(name, func(m rules.Machine) check.Ref { return m.Ref })
		if err != nil || len(f.Machines) != 1 || f.Machines[0] != want || f.Bundle != nil {
			t.Errorf("%s: %v, %v", name, f.Machines, err)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	for content, want := range map[string]string{
		"":                      ErrEmpty.Error(),
		"hello":                 "neither an archive of",
		"{":                     "as JSON",
		`{"a": 1}`:              "neither an archive of",
		`{"schemaVersion": 99}`: "use a newer railhead",
		`{"schemaVersion": 0}`:  "make one with 'railhead-pod snapshot'",
		`{"problems": [], "pods": "x", "nodes": 0}`: "not a diagnosis",
		`{"rails": 1, "points": 2}`:                 "not readings",
		"\x1f\x8bzip":                               "archive",
	} {
		name := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Read(name, rules.Judge)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", content, err, want)
		}
	}
	_, err := Read(filepath.Join(t.TempDir(), "none"), rules.Judge)
	if !errors.Is(err, os.ErrNotExist) || strings.Contains(err.Error(), "/") {
		t.Errorf("a file that does not exist: %v", err)
	}
}
