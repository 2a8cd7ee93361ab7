package logsource

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// paths returns the logs in a folder, and the skipped files with their reasons, both without the folder's name.
func paths(t *testing.T, folder string) (found, left []string) {
	t.Helper()
	short := func(name string) string { return strings.TrimPrefix(strings.TrimPrefix(name, folder), "/") }
	for _, name := range logPaths(folder, func(name, reason string) { left = append(left, short(name)+": "+reason) }) {
		found = append(found, short(name))
	}
	return found, left
}

func touch(t *testing.T, folder string, names ...string) {
	t.Helper()
	for _, name := range names {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("x\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestLogPathsOfAFolder(t *testing.T) {
	folder := t.TempDir()
	touch(t, folder, "rank10.log", "rank2.log", "rank02.log.1", "nccl.gpu-1.4711",
		"attempt_0/1/stderr.log", "attempt_0/0/stderr.log", "log.zst", ".hidden", ".git/config",
		"model.pt", "libnccl.so.2.26.2", "loss.png", "train.py", "events.out.tfevents.17.gpu-0")
	found, left := paths(t, folder)
	want := []string{
		"attempt_0/0/stderr.log", "attempt_0/1/stderr.log", "log.zst", "nccl.gpu-1.4711", "rank2.log", "rank02.log.1",
		"rank10.log",
	}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("found (-want +got):\n%s", diff)
	}
	wantLeft := []string{
		": 2 files, hidden: .git, .hidden",
		": 5 files, not named like a log: events.out.tfevents.17.gpu-0, libnccl.so.2.26.2, loss.png and 2 more",
	}
	if diff := cmp.Diff(wantLeft, left); diff != "" {
		t.Errorf("left out (-want +got):\n%s", diff)
	}
}

func TestLogPathsOfManyFiles(t *testing.T) {
	folder := t.TempDir()
	var names []string
	for i := range 10000 {
		names = append(names, fmt.Sprintf("rank%d.log", i))
	}
	touch(t, folder, names...)
	found, left := paths(t, folder)
	if diff := cmp.Diff(names, found); diff != "" {
		t.Errorf("(-want +got):\n%.2000s", diff)
	}
	if len(left) > 0 {
		t.Errorf("left out: %v", left)
	}
}

// TestLogPathsOfWhatCannotBeRead has kinds of files that not even root can read as logs.
func TestLogPathsOfWhatCannotBeRead(t *testing.T) {
	folder := t.TempDir()
	touch(t, folder, "rank0.log", "sub/rank1.log")
	for name, to := range map[string]string{
		"loop":       ".",
		"sub/up":     "..",
		"gone.log":   "nowhere",
		"round.log":  "round.log",
		"latest.log": "rank0.log",
	} {
		if err := os.Symlink(to, filepath.Join(folder, name)); err != nil {
			t.Skip(err)
		}
	}
	if err := os.WriteFile(filepath.Join(folder, "rank2.log"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	socket, err := net.Listen("unix", filepath.Join(folder, "s.log"))
	if err != nil {
		t.Skip(err)
	}
	defer socket.Close()
	found, left := paths(t, folder)
	if diff := cmp.Diff([]string{"latest.log", "sub/rank1.log"}, found); diff != "" {
		t.Errorf("found (-want +got):\n%s", diff)
	}
	want := []string{
		"gone.log: no such file or directory", "round.log: too many levels of symbolic links",
		"rank2.log: empty", "s.log: not a regular file", "rank0.log: same file as another",
	}
	if diff := cmp.Diff(want, left); diff != "" {
		t.Errorf("left out (-want +got):\n%s", diff)
	}
}

func TestLogPathsWithoutPermission(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may read everything")
	}
	folder := t.TempDir()
	touch(t, folder, "a/x.log", "b.log")
	closed := filepath.Join(folder, "a")
	if err := os.Chmod(closed, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(closed, 0o755) })
	found, left := paths(t, folder)
	if diff := cmp.Diff([]string{"b.log"}, found); diff != "" {
		t.Errorf("found (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"a: permission denied"}, left); diff != "" {
		t.Errorf("left out (-want +got):\n%s", diff)
	}
}

func TestLogPathsOfAFile(t *testing.T) {
	for _, name := range []string{"/dev/fd/0", "model.pt", "not there"} {
		got := logPaths(name, func(name, reason string) { t.Errorf("%s: %s", name, reason) })
		if !slices.Equal(got, []string{name}) {
			t.Errorf("%s: %q: a file that the user names is read, whatever its name", name, got)
		}
	}
}
