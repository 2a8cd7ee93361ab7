package cli

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
	"syscall"
	"testing"
	"time"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/kube"
)

// localPods are pods whose commands are processes of this machine: real shells, real signals. Each pod has a /dev/shm and a
// /tmp of its own, and a railhead-pod that only executes its command.
type localPods struct {
	t      *testing.T
	shell  []string
	pods   map[string]localPod
	states chan cluster.State
	crun   bool // commands lead no process group
}

type localPod struct {
	dir string
	env []string
}

// standIn is a railhead-pod that drops "run --" and becomes the command.
const standIn = "#!/bin/sh\nshift 2\nexec \"$@\"\n"

func newLocalPods(t *testing.T, n int) (*localPods, []target) {
	t.Helper()
	l := &localPods{t: t, shell: []string{"sh"}, pods: map[string]localPod{}, states: make(chan cluster.State)}
	var all []target
	for rank := range n {
		name := fmt.Sprintf("h-kim-%d", rank)
		dir := t.TempDir()
		for _, sub := range []string{"shm", "tmp"} {
			if err := os.Mkdir(filepath.Join(dir, sub), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		executable(t, filepath.Join(dir, "railhead-pod"), standIn)
		l.pods[name] = localPod{dir, []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + filepath.Join(dir, "tmp"), "NODE_RANK=" + strconv.Itoa(rank)}}
		all = append(all, target{rank: rank, pod: runningPod(name), container: trainContainer})
	}
	return l, all
}

// Exec runs a command as a container runtime does: as the leader of a session of its own, which outlives its streams.
func (l *localPods) Exec(ctx context.Context, pod kube.PodRef, o kube.ExecOptions) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	p, ok := l.pods[pod.Name]
	if !ok {
		return 0, fmt.Errorf("pods %q not found", pod.Name)
	}
	words := slices.Clone(o.Command)
	for i, w := range words {
		switch w {
		case sharedDir:
			words[i] = filepath.Join(p.dir, "shm")
		case podProgram:
			words[i] = filepath.Join(p.dir, "railhead-pod")
		}
	}
	words = append(slices.Clone(l.shell), words[1:]...)
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Dir, cmd.Env = p.dir, p.env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = o.Stdin, o.Stdout, o.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: !l.crun}
	cmd.WaitDelay = time.Second // what outlives the command keeps its streams open
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	if !l.crun {
		l.t.Cleanup(func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case <-ctx.Done():
		return 0, ctx.Err()
	case err := <-ended:
		return exitCodeOf(cmd, err)
	}
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

func (l *localPods) Watch(ctx context.Context, _ kube.Want) iter.Seq2[cluster.State, error] {
	return func(yield func(cluster.State, error) bool) {
		for {
			select {
			case <-ctx.Done():
				return
			case s := <-l.states:
				if !yield(s, nil) {
					return
				}
			}
		}
	}
}

// left are the files that a launch has left in the pods' shared and temporary directories.
func (l *localPods) left() []string {
	var left []string
	for _, name := range slices.Sorted(maps.Keys(l.pods)) {
		for _, sub := range []string{"shm", "tmp"} {
			entries, _ := os.ReadDir(filepath.Join(l.pods[name].dir, sub))
			for _, e := range entries {
				left = append(left, name+"/"+sub+"/"+e.Name())
			}
		}
	}
	return left
}

// marked are the processes of a launch that still run.
func marked(id string) []string {
	var pids []string
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range files {
		env, _ := os.ReadFile(file)
		if bytes.Contains(env, []byte(launchMark+"="+id+".")) {
			pids = append(pids, filepath.Base(filepath.Dir(file)))
		}
	}
	return pids
}

// waitGone waits until no process of a launch runs.
func waitGone(t *testing.T, id string) {
	t.Helper()
	eventually(t, "the processes of the launch to end", func() bool { return len(marked(id)) == 0 })
}

// eventually waits for what a process does.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	deadline := time.After(10 * time.Second)
	for !is() {
		select {
		case <-deadline:
			t.Fatalf("waited in vain for %s", what)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// trial is a launch into local pods with little patience.
type trial struct {
	*launch
	local    *localPods
	out, err *words
	ctx      context.Context
	stop     context.CancelFunc
}

func newTrial(t *testing.T, n int, script string) *trial {
	t.Helper()
	local, all := newLocalPods(t, n)
	ctx, stop := context.WithCancel(t.Context())
	tr := &trial{local: local, out: &words{}, err: &words{}, ctx: ctx, stop: stop}
	tr.launch = newLaunch(local, Streams{Out: tr.out, Err: tr.err}, all, []string{"sh", "-c", script})
	tr.patience = patience{grace: time.Second, peer: 200 * time.Millisecond, kill: 2 * time.Second, loss: 200 * time.Millisecond, news: 500 * time.Millisecond}
	t.Cleanup(stop)
	return tr
}

// run carries the launch out and returns its exit code.
func (tr *trial) run(t *testing.T) int {
	t.Helper()
	err := tr.carry(tr.ctx)
	t.Logf("stdout:\n%s\nstderr:\n%s\nerror: %v", tr.out.text(), tr.err.text(), err)
	var coded exitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &coded):
		return coded.code
	}
	t.Fatalf("an error without an exit code: %v", err)
	return -1
}
