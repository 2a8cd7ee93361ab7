//go:build linux

package podrun

import (
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/nccl"
)

// hostile are values that a shell, a line or a parser could take for something else.
var hostile = []string{
	"", "plain", "=mlx5_6:1,mlx5_7:1", "^=mlx5_0", "two words", " blanks ", "tab\there", "line\nbreak",
	"ends with a line\n", "\r\n",
	"it's", `"quoted"`, "'", "''", `back\slash\n`, "$(touch pwned)", "`touch pwned`", "${HOME}", "$HOME",
	"a;touch pwned", "a&touch pwned",
	"a|b", "a>pwned", "#no comment", "~", "*", "?", "[a-z]", "{a,b}", "!!", "é", "\xff\xfe", "-n", "%s%n", "\\", "a\\",
}

func hostileVars() []nccl.Var {
	vars := make([]nccl.Var, 0, len(hostile))
	for i, value := range hostile {
		name := "NCCL_" + string(rune('A'+i/26)) + string(rune('A'+i%26))
		vars = append(vars, nccl.Var{
			Name:   name,
			Value:  value,
			Reason: "set by\n$(touch pwned) and kept",
			Source: nccl.UserSet,
		})
	}
	return vars
}

func TestWriteFilesForShells(t *testing.T) {
	dir := t.TempDir()
	if err := WriteFiles(dir, "7 4711", hostileVars()); err != nil {
		t.Fatal(err)
	}
	for _, shell := range []string{"sh", "bash", "dash", "ksh", "zsh", "busybox"} {
		path, err := exec.LookPath(shell)
		if err != nil && shell != "sh" {
			continue
		}
		t.Run(shell, func(t *testing.T) {
			here := t.TempDir()
			cmd := exec.Command(path, "-c", ". "+dir+`/env.sh && exec cat /proc/self/environ`)
			if shell == "busybox" {
				cmd.Args = slices.Insert(cmd.Args, 1, "sh")
			}
			cmd.Dir, cmd.Env = here, []string{"PATH=/usr/bin:/bin"}
			out, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(values(hostileVars()), ncclEntries(string(out))); diff != "" {
				t.Errorf("environment (-want +got):\n%s", diff)
			}
			if left, _ := os.ReadDir(here); len(left) > 0 {
				t.Errorf("a value was executed: %v", left)
			}
		})
	}
}

// values are the variables as a process has them.
func values(vars []nccl.Var) map[string]string {
	m := map[string]string{}
	for _, v := range vars {
		if v.Source != nccl.LeftUnset {
			m[v.Name] = v.Value
		}
	}
	return m
}

// ncclEntries are the NCCL_* of a /proc/PID/environ.
func ncclEntries(environ string) map[string]string {
	m := map[string]string{}
	for entry := range strings.SplitSeq(environ, "\x00") {
		if name, value, ok := strings.Cut(entry, "="); ok && strings.HasPrefix(name, "NCCL_") {
			m[name] = value
		}
	}
	return m
}

func TestWriteFilesTakesAway(t *testing.T) {
	dir := t.TempDir()
	vars := []nccl.Var{
		{Name: "NCCL_NET", Value: "IB", Source: nccl.Computed},
		{Name: "NCCL_IB_GID_INDEX", Reason: "found by NCCL", Source: nccl.LeftUnset},
	}
	if err := WriteFiles(dir, "7 4711", vars); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", ". "+dir+"/env.sh && exec cat /proc/self/environ")
	cmd.Env = []string{"PATH=/usr/bin:/bin", "NCCL_IB_GID_INDEX=3", "NCCL_NET=Socket", "NCCL_DEBUG=INFO"}
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"NCCL_NET": "IB", "NCCL_DEBUG": "INFO"}
	if diff := cmp.Diff(want, ncclEntries(string(out))); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
}

func TestWriteFilesForPrograms(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "not", "there", "yet")
	vars := []nccl.Var{
		{Name: "NCCL_IB_HCA", Value: "=mlx5_6:1", Reason: "exact", Source: nccl.Computed},
		{Name: "NCCL_IB_GID_INDEX", Reason: "found by NCCL", Source: nccl.LeftUnset},
		{Name: "UCX_NET_DEVICES", Value: "mlx5_6:1", Reason: "the same", Source: nccl.Computed},
		{Name: "NCCL_DEBUG_FILE", Value: "a\nb", Reason: "kept", Source: nccl.UserSet},
	}
	if err := WriteFiles(dir, "7 4711", vars); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"env": "# exact\nNCCL_IB_HCA==mlx5_6:1\n# the same\nUCX_NET_DEVICES=mlx5_6:1\n# " +
			"kept\nNCCL_DEBUG_FILE=\"a\\nb\"\n",
		"nccl.conf": "# exact\nNCCL_IB_HCA==mlx5_6:1\n",
	} {
		if diff := cmp.Diff(want, readFile(t, filepath.Join(dir, name))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	var got []nccl.Var
	if err := json.Unmarshal([]byte(readFile(t, filepath.Join(dir, "env.json"))), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(vars, got); diff != "" {
		t.Errorf("env.json (-want +got):\n%s", diff)
	}
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestWriteFilesReplaces(t *testing.T) {
	dir, elsewhere := t.TempDir(), filepath.Join(t.TempDir(), "precious")
	long := []nccl.Var{{Name: "NCCL_IB_HCA", Value: strings.Repeat("mlx5_6:1,", 1000), Source: nccl.Computed}}
	short := []nccl.Var{{Name: "NCCL_NET", Value: "IB", Reason: "r", Source: nccl.Computed}}
	if err := WriteFiles(dir, "7 4711", long); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(elsewhere, []byte("kept"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "env")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, filepath.Join(dir, "env")); err != nil {
		t.Fatal(err)
	}
	if err := WriteFiles(dir, "7 4711", short); err != nil {
		t.Fatal(err)
	}
	if got := readFile(t, filepath.Join(dir, "env.sh")); got != "# r\nexport NCCL_NET=IB\n" {
		t.Errorf("env.sh is %q", got)
	}
	if got := readFile(t, elsewhere); got != "kept" {
		t.Errorf("the file behind a link was written: %q", got)
	}
	checkFolder(t, dir)
}

// TestWriteFilesBesideLeftovers: a process that was killed left its file, and process ids come again in a container.
func TestWriteFilesBesideLeftovers(t *testing.T) {
	vars := []nccl.Var{{Name: "NCCL_NET", Value: "IB", Reason: "r", Source: nccl.Computed}}
	dir := t.TempDir()
	leftover := filepath.Join(dir, "env.sh."+strconv.Itoa(os.Getpid()))
	if err := os.WriteFile(leftover, []byte(strings.Repeat("left over\n", 1000)), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := WriteFiles(dir, "7 4711", vars); err != nil {
		t.Fatal(err)
	}
	if got := readFile(t, filepath.Join(dir, "env.sh")); got != "# r\nexport NCCL_NET=IB\n" {
		t.Errorf("env.sh is %q", got)
	}
	checkFolder(t, dir)

	elsewhere := filepath.Join(t.TempDir(), "precious")
	if err := os.WriteFile(elsewhere, []byte("kept"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, leftover); err != nil {
		t.Fatal(err)
	}
	if err := WriteFiles(dir, "7 4711", vars); err == nil {
		t.Error("no error where the new file is a link")
	}
	if got := readFile(t, elsewhere); got != "kept" {
		t.Errorf("the file behind a link was written: %q", got)
	}
}

// checkFolder: the files, readable for everyone that the umask allows, and nothing else.
func checkFolder(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || info.Mode().Perm()&^0o644 != 0 {
			t.Errorf("%s: %v, %v", e.Name(), info, err)
		}
	}
	if diff := cmp.Diff(append(slices.Sorted(maps.Keys(runFiles)), processFile), names); diff != "" {
		t.Errorf("folder (-want +got):\n%s", diff)
	}
	if got := readFile(t, filepath.Join(dir, processFile)); got != "7 4711\n" {
		t.Errorf("the process is %q", got)
	}
}

func TestWriteFilesWhereNothingCanBeWritten(t *testing.T) {
	dir := t.TempDir()
	for _, d := range []string{
		"occupied/env.sh",
		"occupied/env",
		"occupied/env.json",
		"occupied/nccl.conf",
		"readonly",
	} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(dir, "readonly"), fs.FileMode(0o555)); err != nil {
		t.Fatal(err)
	}
	readonly := filepath.Join(dir, "readonly")
	if os.Geteuid() == 0 {
		readonly = "/proc/self" // permissions do not stop root; no one makes files there
	}
	for _, tc := range []struct{ name, dir string }{
		{"file in place of the folder", filepath.Join(dir, "file")},
		{"file above the folder", filepath.Join(dir, "file", "railhead")},
		{"folders in place of the files", filepath.Join(dir, "occupied")},
		{"folder that cannot be written", readonly},
	} {
		t.Run(tc.name, func(t *testing.T) {
			before, _ := os.ReadDir(tc.dir)
			if err := WriteFiles(tc.dir, "7 4711", hostileVars()); err == nil {
				t.Error("no error")
			}
			if after, _ := os.ReadDir(tc.dir); len(after) != len(before) {
				t.Errorf("left behind: %v, before %v", after, before)
			}
		})
	}
}
