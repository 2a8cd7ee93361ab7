package launchtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/kube"
	"github.com/railhead/railhead/tools/process"
)

// Pods are pods whose commands are processes of this machine, with real shells and signals. Each pod has its own
// /dev/shm and /tmp, and a railhead-pod that only executes its command.
type Pods struct {
	t      *testing.T
	Shell  []string // default sh
	Pods   map[string]Pod
	States chan cluster.State // yielded by Watch
	Crun   bool               // commands lead no process group
	Cut    string             // a pod that is not reached when its command is to start
}

// Pod is one local pod.
type Pod struct {
	Dir string // with shm, tmp and railhead-pod
	Env []string
}

// AsPod is set in processes of the test binary that must be railhead-pod, for the commands detach and follow.
const AsPod = "RAILHEAD_POD_OF_TESTS"

// standIn is a railhead-pod that drops "run --" and becomes the command.
const standIn = `#!/bin/sh
case $1 in detach|follow) ` + AsPod + `=1 exec "%s" "$@" ;; esac
unset ` + AsPod + `
shift 2
exec "$@"
`

// New returns n pods of the job h-kim.
func New(t *testing.T, n int) (*Pods, []cluster.Pod) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	l := &Pods{t: t, Shell: []string{"sh"}, Pods: map[string]Pod{}, States: make(chan cluster.State)}
	var all []cluster.Pod
	for rank := range n {
		name := fmt.Sprintf("h-kim-%d", rank)
		dir := t.TempDir()
		for _, sub := range []string{"shm", "tmp"} {
			if err := os.Mkdir(filepath.Join(dir, sub), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		Executable(t, filepath.Join(dir, "railhead-pod"), fmt.Sprintf(standIn, program))
		l.Pods[name] = Pod{dir, []string{
			"PATH=" + os.Getenv("PATH"),
			"TMPDIR=" + filepath.Join(dir, "tmp"),
			"NODE_RANK=" + strconv.Itoa(rank),
		}}
		all = append(all, RunningPod(name))
	}
	return l, all
}

// Exec runs a command as a container runtime does: as a session leader that outlives its streams.
func (l *Pods) Exec(ctx context.Context, pod kube.PodRef, o kube.ExecOptions) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	p, ok := l.Pods[pod.Name]
	if !ok {
		return 0, fmt.Errorf("pods %q not found", pod.Name)
	}
	words := slices.Clone(o.Command)
	starts := func(word string) bool { return strings.Contains(word, ` run -- "$@"`) }
	if pod.Name == l.Cut && slices.ContainsFunc(words, starts) {
		return 0, errors.New("error dialing backend")
	}
	for i, w := range words {
		switch w {
		case "/dev/shm":
			words[i] = filepath.Join(p.Dir, "shm")
		case "/railhead/bin/railhead-pod":
			words[i] = filepath.Join(p.Dir, "railhead-pod")
		}
	}
	words = append(slices.Clone(l.Shell), words[1:]...)
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Dir, cmd.Env = p.Dir, p.Env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: !l.Crun}
	cmd.Stdin = o.Stdin
	wait, err := process.Start(cmd, o.Stdout, o.Stderr)
	if err != nil {
		return 0, err
	}
	if !l.Crun {
		l.t.Cleanup(func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	}
	ended := make(chan error, 1)
	go func() { ended <- wait() }()
	select {
	case <-ctx.Done():
		return 0, ctx.Err()
	case err := <-ended:
		return exitCodeOf(cmd, err)
	}
}

// CutShort are local pods that cut the output of commands short, and report success: an API server or a kubelet may end
// the streams so.
type CutShort struct {
	*Pods
	Script string       // commands with this text are cut
	Left   atomic.Int64 // times
	Asked  atomic.Int64 // commands with the text so far
}

// Exec runs a command and passes on the first half of its output.
func (c *CutShort) Exec(ctx context.Context, pod kube.PodRef, o kube.ExecOptions) (int, error) {
	if !strings.Contains(strings.Join(o.Command, " "), c.Script) {
		return c.Pods.Exec(ctx, pod, o)
	}
	if c.Asked.Add(1); c.Left.Add(-1) < 0 {
		return c.Pods.Exec(ctx, pod, o)
	}
	var whole bytes.Buffer
	out := o.Stdout
	o.Stdout = &whole
	_, err := c.Pods.Exec(ctx, pod, o)
	if err == nil {
		_, err = out.Write(whole.Bytes()[:whole.Len()/2])
	}
	return 0, err
}

func exitCodeOf(cmd *exec.Cmd, err error) (int, error) {
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) {
		return 0, err
	}
	status := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if status.Signaled() {
		return 128 + int(status.Signal()), nil
	}
	return status.ExitStatus(), nil
}

// Watch implements ranks.Pods.
func (l *Pods) Watch(ctx context.Context, _ kube.Want) iter.Seq2[cluster.State, error] {
	return func(yield func(cluster.State, error) bool) {
		for {
			select {
			case <-ctx.Done():
				return
			case s := <-l.States:
				if !yield(s, nil) {
					return
				}
			}
		}
	}
}

// Left returns the files that remain in the pods' shared and temporary directories.
func (l *Pods) Left() []string {
	var left []string
	for _, name := range slices.Sorted(maps.Keys(l.Pods)) {
		for _, sub := range []string{"shm", "tmp"} {
			entries, _ := os.ReadDir(filepath.Join(l.Pods[name].Dir, sub))
			for _, e := range entries {
				left = append(left, name+"/"+sub+"/"+e.Name())
			}
		}
	}
	return left
}

// Marked returns the running processes of a launch.
func Marked(id string) []string {
	var pids []string
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range files {
		env, _ := os.ReadFile(file)
		if bytes.Contains(env, []byte("RAILHEAD_LAUNCH="+id+".")) {
			pids = append(pids, filepath.Base(filepath.Dir(file)))
		}
	}
	return pids
}

// WaitGone waits until no process of a launch runs.
func WaitGone(t *testing.T, id string) {
	t.Helper()
	Eventually(t, "the processes of the launch to end", func() bool { return len(Marked(id)) == 0 })
}

// Eventually waits until is returns true.
func Eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	deadline := time.After(5 * time.Minute) // it hangs
	for !is() {
		select {
		case <-deadline:
			t.Fatalf("timeout waiting for %s", what)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// Executable writes a program. No process may be started meanwhile: it would inherit the file open for writing, and the
// program could not be executed until then (go.dev/issue/22315).
func Executable(t *testing.T, path, text string) {
	t.Helper()
	syscall.ForkLock.RLock()
	err := os.WriteFile(path, []byte(text), 0o755)
	syscall.ForkLock.RUnlock()
	if err != nil {
		t.Fatal(err)
	}
}
