package netlink

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/host"
)

var update = flag.Bool("update", false, "write the golden files anew")

// recordings returns the answers of real kernels, by their files.
func recordings(t testing.TB) map[string]*Recording {
	t.Helper()
	files, err := filepath.Glob("testdata/*.netlink.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recordings: %v", err)
	}
	all := map[string]*Recording{}
	for _, file := range files {
		all[file] = new(Recording)
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, all[file]); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
	return all
}

// TestRecordings: every request is one that the kernel was asked, and its answers are understood.
func TestRecordings(t *testing.T) {
	for file, recording := range recordings(t) {
		got, err := Exchange(recording.Replay).Read(func() time.Time { return time.Time{} })
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		golden := strings.Replace(file, ".netlink.json", ".golden.json", 1)
		if *update {
			text, err := json.MarshalIndent(got, "", "  ")
			if err == nil {
				err = os.WriteFile(golden, append(text, '\n'), 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		var want host.Wire
		text, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &want); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", file, diff)
		}
	}
}

// TestRecordedInterfaceMTUs: a real kernel names the interface of each port, and that has an MTU.
func TestRecordedInterfaceMTUs(t *testing.T) {
	for file, recording := range recordings(t) {
		got, err := InterfaceMTUs(recording.Replay, recording.Replay)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		want := map[Port]host.Fact[int]{
			{"mlx5_0", 1}: host.Know(1500), {"mlx5_1", 1}: host.Know(1500),
			{"mlx5_2", 1}: host.Know(1500), {"mlx5_3", 1}: host.Know(1500),
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", file, diff)
		}
	}
}
