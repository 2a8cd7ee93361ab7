package launch

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/launch/launchtest"
)

func TestLaunchKeepsOutput(t *testing.T) {
	t.Parallel()
	tr := newTrial(t, 2, `echo "out of $NODE_RANK"; printf "step 1\rstep 2"; echo "err of $NODE_RANK" >&2
[ $NODE_RANK = 1 ] || echo "gpu-0:1:1 [0] NCCL INFO Bootstrap : Using eth0" > "$NCCL_DEBUG_FILE"`)
	dir := filepath.Join(t.TempDir(), "runs", "7")
	var err error
	if tr.Logs, err = NewFolder(dir); err != nil {
		t.Fatal(err)
	}
	if code := tr.run(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	launchtest.Has(t, tr.err.String(),
		"which network was used\nOutput: "+dir+"; judge it with: railhead explain "+dir+"\n")
	got := map[string]string{}
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		got[e.Name()] = string(text)
	}
	want := map[string]string{
		"rank-0.out":  "out of 0\nstep 1\rstep 2",
		"rank-1.out":  "out of 1\nstep 1\rstep 2",
		"rank-0.err":  "err of 0\n",
		"rank-1.err":  "err of 1\n",
		"rank-0.nccl": "gpu-0:1:1 [0] NCCL INFO Bootstrap : Using eth0\n",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	_, err = NewFolder(dir)
	if err == nil {
		t.Fatal("a folder with a run was taken again")
	}
	launchtest.Has(t, err.Error(), "has files, such as rank-0.err: use a new folder for each run")
}

// TestLaunchExplainHint: explain is named only for output that it can judge.
func TestLaunchExplainHint(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		command string
		named   bool
	}{
		"no line of NCCL": {"echo hello", false},
		"a known failure": {
			"echo 'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.' >&2; exit 1", true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr := newTrial(t, 1, c.command)
			dir := filepath.Join(t.TempDir(), "runs")
			tr.Logs, _ = NewFolder(dir)
			tr.run(t)
			end := "\nOutput: " + dir + "\n"
			if c.named {
				end = "\nOutput: " + dir + "; judge it with: railhead explain " + dir + "\n"
			}
			if got := tr.err.String(); !strings.HasSuffix(got, end) {
				t.Errorf("the end is not %q:\n%s", end, got)
			}
		})
	}
}

// TestLaunchUnwritable holds a launch to its end if the output cannot be kept.
func TestLaunchUnwritable(t *testing.T) {
	t.Parallel()
	tr := newTrial(t, 1, `echo one; echo two`)
	dir := filepath.Join(t.TempDir(), "runs")
	tr.Logs, _ = NewFolder(dir)
	if err := os.Mkdir(filepath.Join(dir, "rank-0.out"), 0o755); err != nil {
		t.Fatal(err)
	}
	if code := tr.run(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	launchtest.Has(t, tr.out.String(), "[0] one\n[0] two\n")
	launchtest.Has(t, tr.err.String(), "Output: "+dir+", incomplete: open ")
}
