package explain

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/railhead/railhead/internal/corpustest"
	"github.com/railhead/railhead/internal/nccllog/event"
	"github.com/railhead/railhead/internal/story"
)

// TestScoreOthers compares the stories with indexes that were written before any tool read the logs.
func TestScoreOthers(t *testing.T) {
	for _, kind := range []string{"nccl2", "nccl3"} {
		for i, dir := range corpustest.Folders(t, kind) {
			if missed := score(t, dir); i == 0 && len(missed) > 0 {
				t.Errorf("differences from the index:\n%s", strings.Join(missed, "\n"))
			} else {
				t.Log(strings.Join(missed, "\n"))
			}
		}
	}
}

// TestScoreOfFaults compares the stories of runs on a GPU, whose faults are known because tools/gpu made them.
func TestScoreOfFaults(t *testing.T) {
	for _, miss := range score(t, "../../testdata/gpu") {
		t.Error(miss)
	}
}

// score returns where the stories of a folder's logs differ from its index. A field accepts every value of its list;
// "-" accepts all.
func score(t *testing.T, dir string) []string {
	t.Helper()
	var misses []string
	all := 0
	for _, label := range corpustest.Index(t, dir) {
		run := read(t, filepath.Join(dir, label["file"])).Last()
		cause := "-"
		if len(run.Causes) > 0 {
			cause = string(run.Causes[0].ID)
		}
		if label["outcome"] == "fail" && run.Outcome == story.OutcomeOK {
			t.Errorf("%s: a failure is called ok", label["file"])
		}
		for _, field := range []struct{ name, want, got string }{
			{"network", label["network"], string(run.Network.Kind)},
			{"gdr", label["gdr"], string(run.GPUDirect)},
			{"outcome", label["outcome"], string(run.Outcome)},
			{"cause", label["accept"], cause},
		} {
			if field.want == "-" {
				continue
			}
			all++
			words := strings.FieldsFunc(field.want, func(r rune) bool { return r == ',' || r == ' ' })
			if !slices.Contains(words, field.got) {
				misses = append(misses,
					fmt.Sprintf("%s: %s: want %s, got %s", label["file"], field.name, field.want, field.got))
			}
		}
	}
	t.Logf("%s: %d of %d fields as in the index", dir, all-len(misses), all)
	return misses
}

// TestFirstCauseOfFaults: who failed, and what it did. Logs that end as -unfinished were cut off before the launchers
// had ended the other ranks.
func TestFirstCauseOfFaults(t *testing.T) {
	const (
		killed = "another process ended first: rank 1 on node-1 was killed (SIGKILL), usually by the kernel because the " +
			"host ran out of memory; the others "
		unlike = "the ranks are not at the same collective"
	)
	for file, want := range map[string]string{
		"kill":            killed + "lost their connection to it",
		"kill-unfinished": killed + "lost their connection to it",
		"kill-first-step": killed + "lost their connection to it",
		"kill-silent":     killed + "lost their connection to it",
		"kill-gloo":       killed + "lost their connection to it",
		"exception": "another process ended first: rank 1 on node-1 ended with ValueError, an exception of the program; " +
			"the others lost their connection to it",
		"disk":    "a disk is full: rank 1 on node-1: a disk is full",
		"files-4": "a process has too many open files: rank 0 on node-0: too many open files",
		"other-shape": "a collective did not finish: rank 1 on node-1 ran ALLREDUCE number 5 of 3 elements, rank 0 on " +
			"node-0 ran ALLREDUCE number 5 of 1048576 elements: " + unlike,
		"other-shape-detail": "a collective did not finish: rank 0 on node-0: " + unlike,
		"docker0": "ranks advertise an address that other hosts cannot reach: rank 1 on node-1 could not connect to " +
			"172.17.0.1<53705> (Connection refused): that is the docker bridge, which every host has",
		"algorithm": "the log does not show the cause: rank 1 on node-1 returned an error after a warning that railhead " +
			"does not know",
		"no-module": "the log does not show the cause: rank 0 on node-0: process ended with an error, after an error that " +
			"railhead does not know",
		"ok-railhead": "NCCL found no RDMA device: railhead-pod found no rail that works in this pod, and set NCCL to TCP",
	} {
		causes := read(t, "../../testdata/gpu/"+file+".log.gz").Last().Causes
		if len(causes) == 0 || causes[0].Summary != want {
			t.Errorf("%s: want %s, got %+v", file, want, causes)
		}
	}
}

// TestWordsOfRailheadPod: the line by which explain knows a fallback of railhead-pod is what railhead-pod prints.
func TestWordsOfRailheadPod(t *testing.T) {
	printed, err := os.ReadFile("../../testdata/golden/pod-no-rdma.txt")
	if err != nil {
		t.Fatal(err)
	}
	for s := range event.Signatures() {
		if s.ID == "no-rail" && !strings.Contains(string(printed), "\n"+s.Example+"\n") {
			t.Errorf("railhead-pod does not print %q", s.Example)
		}
	}
}
