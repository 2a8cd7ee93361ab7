//go:build linux

package podrun

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/exit"
	"github.com/railhead/railhead/internal/nccl"
)

func TestEnvironment(t *testing.T) {
	base := []string{
		"B=1",
		"A=2",
		"NCCL_NET=Socket",
		"NCCL_NET=twice",
		"odd",
		"=C:=x",
		"NCCL_NETS=3",
		"EMPTY=",
		"NCCL_IB_GID_INDEX=3",
	}
	vars := []nccl.Var{
		{Name: "NCCL_NET", Value: "IB", Source: nccl.Computed},
		{Name: "NCCL_IB_HCA", Value: "=mlx5_6:1", Source: nccl.Computed},
		{Name: "NCCL_IB_GID_INDEX", Source: nccl.LeftUnset},
		{Name: "NCCL_IB_TC", Value: "", Source: nccl.UserSet},
	}
	kept := append([]string(nil), base...)
	want := []string{
		"B=1",
		"A=2",
		"odd",
		"=C:=x",
		"NCCL_NETS=3",
		"EMPTY=",
		"NCCL_NET=IB",
		"NCCL_IB_HCA==mlx5_6:1",
		"NCCL_IB_TC=",
	}
	if diff := cmp.Diff(want, Environment(base, vars)); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(kept, base); diff != "" {
		t.Errorf("the base was changed (-before +after):\n%s", diff)
	}
}

// starting is the environment that makes the test binary start the command with env.
func starting(env []string, argv ...string) []string {
	return step{Do: "start", Argv: argv, Env: []byte(strings.Join(env, "\x00"))}.environ()
}

// start runs Exec in a process of its own.
func start(t *testing.T, dir string, env []string, argv ...string) (stdout, stderr string, state *os.ProcessState) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Dir, cmd.Env = dir, starting(env, argv...)
	var out, talk bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &talk
	if err := cmd.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		t.Fatal(err)
	}
	return out.String(), talk.String(), cmd.ProcessState
}

func TestExecBecomesTheCommand(t *testing.T) {
	for _, tc := range []struct {
		name   string
		script string
		want   string // %d stands for the process id
		code   int
		signal syscall.Signal
	}{
		{name: "success", script: "exit 0"},
		{name: "exit code of the command", script: "exit 7", code: 7},
		{name: "exit code as of a refusal", script: "exit 125", code: 125},
		{name: "same process", script: "echo $$", want: "%d\n"},
		{name: "ended by a signal", script: "kill -TERM $$", code: -1, signal: syscall.SIGTERM},
		{
			name:   "ended by a signal that a launcher in Go handles",
			script: "kill -QUIT $$",
			code:   -1,
			signal: syscall.SIGQUIT,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			out, talk, state := start(t, "/", []string{"PATH=/usr/bin:/bin"}, "sh", "-c", tc.script)
			if strings.Contains(tc.want, "%d") {
				tc.want = fmt.Sprintf(tc.want, state.Pid())
			}
			if out != tc.want || talk != "" {
				t.Errorf("stdout %q, stderr %q, want %q and silence", out, talk, tc.want)
			}
			status := state.Sys().(syscall.WaitStatus)
			if state.ExitCode() != tc.code || tc.signal != 0 && status.Signal() != tc.signal {
				t.Errorf("ended with %s, want code %d, signal %v", state, tc.code, tc.signal)
			}
		})
	}
}

func TestExecPassesTheEnvironmentAsItIs(t *testing.T) {
	env := []string{
		"Z=last first",
		"PATH=/usr/bin:/bin",
		"A=1",
		"A=2",
		"NCCL_IB_HCA==mlx5_6:1",
		"LINES=a\nb",
		"odd",
		"EMPTY=",
		"BYTES=\xff",
	}
	out, talk, state := start(t, "/", env, "cat", "/proc/self/environ")
	if !state.Success() {
		t.Fatalf("%s: %s", state, talk)
	}
	if diff := cmp.Diff(env, strings.Split(strings.TrimSuffix(out, "\x00"), "\x00")); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
}

func TestExecPassesArgumentsAsTheyAre(t *testing.T) {
	argv := []string{"cat", "--", "/proc/self/cmdline"}
	out, talk, _ := start(t, "/", []string{"PATH=/usr/bin:/bin"}, argv...)
	if want := strings.Join(argv, "\x00") + "\x00"; out != want {
		t.Errorf("arguments %q, want %q; stderr %s", out, want, talk)
	}
}

// TestExecRestores: the Go runtime changes a process, of which the command must see nothing.
func TestExecRestores(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ name, before, after string }{
		{"limit of open files", `ulimit -S -n 100`, `ulimit -S -n`},
		{"open files", `exec 5</dev/null`, `ls /proc/self/fd`},
		{"ignored hang-up, as of nohup", `trap '' HUP`, `grep SigIgn: /proc/self/status`},
		{"blocked signals", `:`, `grep SigBlk: /proc/self/status`},
		{"permissions of new files", `umask 027`, `umask`},
		{"folder", `cd /usr/bin`, `pwd`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			path := []string{"PATH=/usr/bin:/bin"}
			direct := exec.Command("sh", "-c", tc.before+`; exec sh -c "$0"`, tc.after)
			direct.Env = path
			want, err := direct.CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, want)
			}
			launched := exec.Command("sh", "-c", tc.before+`; exec "$0"`, self)
			launched.Env = starting(path, "sh", "-c", tc.after)
			got, err := launched.CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, got)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("(-directly +launched):\n%s", diff)
			}
		})
	}
}

// commands makes a folder with files that can and cannot be started.
func commands(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, file := range map[string]struct {
		text string
		mode fs.FileMode
	}{
		"first/good":         {"#!/bin/sh\necho first\n", 0o755},
		"second/good":        {"#!/bin/sh\necho second\n", 0o755},
		"locked/good":        {"#!/bin/sh\necho locked\n", 0o644},
		"locked/only":        {"#!/bin/sh\n", 0o644},
		"folders/good/x":     {"", 0o644},
		"folders/only/x":     {"", 0o644},
		"first/interpreter":  {"#!/no/such/interpreter\n", 0o755},
		"first/truncated":    {"\x7fELF", 0o755},
		"first/plain":        {"echo plain\n", 0o755},
		"good":               {"#!/bin/sh\necho here\n", 0o755},
		"folders/plain.file": {"", 0o644},
	} {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(file.text), file.mode); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestExecFindsTheCommand states what env(1) does and asks it where it is there.
func TestExecFindsTheCommand(t *testing.T) {
	dir := commands(t)
	env, noEnv := exec.LookPath("env")
	for _, tc := range []struct {
		name, path, command string // DIR stands for the folder
		want                string // stdout
		code                exit.Code
	}{
		{name: "first folder that has it", path: "DIR/first:DIR/second", command: "good", want: "first\n"},
		{name: "missing folder before it", path: "DIR/none:DIR/second", command: "good", want: "second\n"},
		{name: "file in place of a folder before it", path: "DIR/good:DIR/second", command: "good", want: "second\n"},
		{name: "not executable before it", path: "DIR/locked:DIR/second", command: "good", want: "second\n"},
		{name: "folder of its name before it", path: "DIR/folders:DIR/second", command: "good", want: "second\n"},
		{name: "empty first entry", path: ":DIR/second", command: "good", want: "here\n"},
		{name: "empty last entry", path: "DIR/none:", command: "good", want: "here\n"},
		{name: "empty entry between", path: "DIR/none::DIR/second", command: "good", want: "here\n"},
		{name: "empty path", path: "", command: "good", want: "here\n"},
		{name: "relative folder", path: "second", command: "good", want: "second\n"},
		{name: "relative name with a slash", path: "DIR/first", command: "second/good", want: "second\n"},
		{name: "name with a dot and a slash", path: "DIR/first", command: "./good", want: "here\n"},
		{name: "absolute name", path: "DIR/first", command: "DIR/second/good", want: "second\n"},

		{name: "script without an interpreter line", path: "DIR/none:DIR/first", command: "plain", want: "plain\n"},
		{name: "absolute name of such a script", path: "DIR/second", command: "DIR/first/plain", want: "plain\n"},

		{name: "nowhere", path: "DIR/first:DIR/second", command: "none", code: exit.NotFound},
		{name: "absolute name of nothing", path: "DIR/first", command: "DIR/none", code: exit.NotFound},
		{name: "empty name", path: "DIR/first", command: "", code: exit.NotFound},
		{name: "script without its interpreter", path: "DIR/first", command: "interpreter", code: exit.NotFound},
		{name: "not executable", path: "DIR/locked", command: "only", code: exit.CannotInvoke},
		{
			name:    "not executable, and nowhere else",
			path:    "DIR/locked:DIR/none",
			command: "only",
			code:    exit.CannotInvoke,
		},
		{name: "absolute name, not executable", path: "DIR/first", command: "DIR/locked/only", code: exit.CannotInvoke},
		{name: "folder of its name", path: "DIR/folders", command: "only", code: exit.CannotInvoke},
		{name: "name of a folder", path: "DIR/first", command: "DIR/folders", code: exit.CannotInvoke},
		{name: "below a file", path: "DIR/first", command: "DIR/good/x", code: exit.CannotInvoke},
	} {
		t.Run(tc.name, func(t *testing.T) {
			path, command := strings.ReplaceAll(tc.path, "DIR", dir), strings.ReplaceAll(tc.command, "DIR", dir)
			out, talk, state := start(t, dir, []string{"PATH=" + path}, command)
			if out != tc.want || exit.Code(state.ExitCode()) != tc.code {
				t.Errorf("stdout %q, %s, want %q, code %d; stderr %s", out, state, tc.want, tc.code, talk)
			}
			if tc.code != 0 && !strings.HasPrefix(talk, "start "+command+": ") {
				t.Errorf("stderr %q does not begin with the command", talk)
			}
			if noEnv != nil {
				return
			}
			oracle := exec.Command(env, "-i", "PATH="+path, command)
			oracle.Dir = dir
			said, _ := oracle.Output() // its code is compared
			if string(said) != out || oracle.ProcessState.ExitCode() != state.ExitCode() {
				t.Errorf("stdout %q, %s; of env(1): %q, %s", out, state, said, oracle.ProcessState)
			}
		})
	}
}

func TestExecPathOfTheEnvironment(t *testing.T) {
	for _, tc := range []struct {
		name string
		env  []string
	}{
		{"none", []string{"A=1"}},
		{"another variable that begins like it", []string{"PATHS=/none"}},
		{"two, of which the first counts", []string{"PATH=/usr/bin:/bin", "PATH=/none"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			out, talk, state := start(t, "/", tc.env, "sh", "-c", "echo found")
			if out != "found\n" || !state.Success() {
				t.Errorf("stdout %q, %s: %s", out, state, talk)
			}
		})
	}
}

func TestExecForeignFormat(t *testing.T) {
	_, talk, state := start(t, "/", nil, filepath.Join(commands(t), "first/truncated"))
	if exit.Code(state.ExitCode()) != exit.CannotInvoke || !strings.Contains(talk, syscall.ENOEXEC.Error()) {
		t.Errorf("%s: %q, want code %d with %q", state, talk, exit.CannotInvoke, syscall.ENOEXEC)
	}
}
