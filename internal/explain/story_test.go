package explain

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/explain/causes"
	"github.com/railhead/railhead/internal/nccllog"
	"github.com/railhead/railhead/internal/nccllog/event"
	"github.com/railhead/railhead/internal/story"
)

// fixture is a log that was written for this test, in the formats of NCCL, with what it is to say.
type fixture struct {
	want  map[string]string
	names []string
	files map[string]string
}

// fixtures are in testdata/logs: "key: value" lines, then files between "-- name --" lines.
func fixtures(t testing.TB) map[string]fixture {
	t.Helper()
	paths, err := filepath.Glob("../../testdata/logs/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatal("no fixtures", err)
	}
	found := map[string]fixture{}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		f := fixture{want: map[string]string{}, files: map[string]string{}}
		for line := range strings.Lines(string(data)) {
			name, isFile := strings.CutPrefix(line, "-- ")
			switch {
			case isFile && strings.HasSuffix(name, " --\n"):
				f.names = append(f.names, strings.TrimSuffix(name, " --\n"))
			case len(f.names) == 0:
				key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
				f.want[key] = value
			default:
				f.files[f.names[len(f.names)-1]] += line
			}
		}
		found[strings.TrimSuffix(filepath.Base(path), ".txtar")] = f
	}
	return found
}

func (f fixture) log() nccllog.Log {
	var p nccllog.Parser
	for _, name := range f.names {
		n := 0
		for line := range strings.Lines(f.files[name]) {
			n++
			p.Line(event.Place{File: name, Line: n}, []byte(line))
		}
		p.End(event.Place{File: name, Line: n}, []byte(f.files[name]))
	}
	return p.Log()
}

// said is a run in the words of a fixture.
func said(r story.Run, want map[string]string, runs int) map[string]string {
	used := "null"
	if r.Network.Used != nil {
		used = fmt.Sprint(*r.Network.Used)
	}
	got := map[string]string{
		"cause": "-", "outcome": string(r.Outcome), "kind": string(r.Network.Kind), "used": used,
		"gdr": string(r.GPUDirect), "victims": fmt.Sprint(len(r.Victims)),
	}
	var ids []string
	for _, c := range r.Causes {
		ids = append(ids, string(c.ID))
	}
	if len(ids) > 0 {
		got["cause"] = ids[0]
	}
	if also, ok := want["also"]; ok {
		got["also"] = "not among " + strings.Join(ids, ", ")
		if slices.Contains(ids, also) {
			got["also"] = also
		}
	}
	if _, ok := want["name"]; ok {
		got["name"] = r.Network.Name
	}
	if _, ok := want["runs"]; ok {
		got["runs"] = fmt.Sprint(runs)
	}
	return got
}

func TestFixtures(t *testing.T) {
	for name, f := range fixtures(t) {
		t.Run(name, func(t *testing.T) {
			told := Log(f.log())
			run := told.Runs[0]
			if diff := cmp.Diff(f.want, said(run, f.want, len(told.Runs))); diff != "" {
				t.Errorf("%s\n%s", diff, run.Summary)
			}
			for _, c := range run.Causes {
				if c.Summary == "" || c.Fix == "" || c.Experiment == "" || c.Confidence == "" {
					t.Errorf("cause %s lacks words: %+v", c.ID, c)
				}
				if len(c.Evidence) == 0 && c.ID != story.UnknownCause && c.Confidence != story.Possible {
					t.Errorf("cause %s without evidence", c.ID)
				}
			}
		})
	}
}

// TestVocabulary asserts that every cause has words, and that a fixture shows it.
func TestVocabulary(t *testing.T) {
	shown := map[story.CauseID]bool{}
	for _, f := range fixtures(t) {
		shown[story.CauseID(f.want["cause"])] = true
		shown[story.CauseID(f.want["also"])] = true
	}
	ids := map[story.CauseID]bool{}
	for _, e := range causes.Catalogue() {
		if ids[e.ID] {
			t.Errorf("%s stands twice", e.ID)
		}
		ids[e.ID] = true
		if e.Title == "" || e.Fix == "" || e.Experiment == "" {
			t.Errorf("%s lacks words", e.ID)
		}
		if !shown[e.ID] {
			t.Errorf("no fixture in testdata/logs has %q as its cause", e.ID)
		}
	}
}

// TestExcludesNetwork: only a certain cause that does not depend on the network clears it, and no other cause may be of
// the network.
func TestExcludesNetwork(t *testing.T) {
	logs := fixtures(t)
	for name, want := range map[string]bool{
		"gpu-oom-torch": true, "gpu-oom-nccl": true, "cuda-error-torch": true, "shm-too-small-2.26": false,
		"hang-timeout": false, "peer-died-closed": false, "peer-died-oom-kill": false, "unknown-warning": false,
		"memlock-reg-mr": false, "duplicate-gpu": false, "version-mismatch": false, "nvls-801": false, "healthy-roce-2.28": false,
	} {
		f, ok := logs[name]
		if got := Log(f.log()).Runs[0]; !ok || got.ExcludesNetwork() != want {
			t.Errorf("%s: want %t: %s", name, want, got.Summary)
		}
	}
	oom, port := story.Cause{ID: story.GPUOOM, Confidence: story.Certain}, story.Cause{ID: story.PortError,
		Confidence: story.Possible, Network: true}
	if run := (story.Run{Causes: []story.Cause{oom, port}}); run.ExcludesNetwork() {
		t.Error("a port may have failed, too")
	}
}
