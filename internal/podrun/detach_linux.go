package podrun

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/railhead/railhead/internal/exit"
)

// Detached is a command that runs in a container without a client. Its files are in a directory that outlives a restart
// of the container: NAME.run while and after it runs, NAME.log.* with its output, and NAME.exit when it has ended.
type Detached struct{ Dir, Name string }

func (d Detached) path(suffix string) string {
	return filepath.Join(d.Dir, "railhead-"+d.Name+"."+suffix)
}

// Start starts the command under a process of this program that keeps its output, and returns when it has started.
// keeper is the command line of that process.
func (d Detached) Start(keeper []string) error {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	problem, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer problem.Close()
	_, err = syscall.ForkExec("/proc/self/exe", keeper, &syscall.ProcAttr{
		Env:   os.Environ(),
		Files: []uintptr{null.Fd(), null.Fd(), w.Fd()},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
	_ = w.Close() // the keeper has the other end, until the command has started
	if err != nil {
		return err
	}
	text, err := io.ReadAll(problem)
	if len(text) > 0 {
		return errors.New(strings.TrimSpace(string(text)))
	}
	return err
}

// Keep runs the command in a session of its own and records its output and its end. note is kept in NAME.run. An error
// is written to stderr, which is closed when the command has started.
func (d Detached) Keep(argv []string, note string) error {
	program, err := lookPath(argv[0], os.Environ())
	if err != nil {
		return fmt.Errorf("start %s: %w", argv[0], err)
	}
	run, err := os.OpenFile(d.path("run"), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer run.Close() // and not earlier, as by the garbage collector: the lock says that this process lives
	if err := unix.Flock(int(run.Fd()), unix.LOCK_EX); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(run, "started=%s\n%s\n", time.Now().UTC().Format(timeForm), note); err != nil {
		return err
	}
	r := &recorder{Detached: d}
	pid, recorded, err := r.spawn(program, argv)
	if err != nil {
		return errors.Join(err, os.Remove(run.Name()))
	}
	if err := unix.Dup3(0, 2, 0); err != nil {
		return err
	}
	code := await(pid)
	const lateOutput = 2 * time.Second // of processes that outlive the command
	select {
	case <-recorded:
	case <-time.After(lateOutput):
	}
	return r.end(code)
}

// spawn starts the command with its output recorded. recorded is closed when both streams have ended.
func (r *recorder) spawn(program string, argv []string) (pid int, recorded <-chan struct{}, err error) {
	files := []uintptr{0}
	var streams sync.WaitGroup
	for _, stream := range []string{"stdout", "stderr"} {
		from, to, err := os.Pipe()
		if err != nil {
			return 0, nil, err
		}
		defer to.Close()
		files = append(files, to.Fd())
		streams.Go(func() { r.copy(stream, from) })
	}
	pid, err = syscall.ForkExec(program, argv, &syscall.ProcAttr{
		Env: os.Environ(), Files: files, Sys: &syscall.SysProcAttr{Setsid: true},
	})
	done := make(chan struct{})
	go func() {
		streams.Wait()
		close(done)
	}()
	return pid, done, err
}

// await returns the exit code of a child, as shells report it.
func await(pid int) exit.Code {
	var status syscall.WaitStatus
	for {
		if _, err := syscall.Wait4(pid, &status, 0, nil); err != syscall.EINTR {
			break
		}
	}
	if status.Signaled() {
		return exit.Signalled(int(status.Signal()))
	}
	return exit.Code(status.ExitStatus())
}

// end records the exit code. If the disk is full, it gives up the oldest output.
func (r *recorder) end(code exit.Code) error {
	if _, err := os.Stat(r.path("run")); err != nil {
		return err // the files were removed: no client waits for the end
	}
	text := fmt.Sprintf("%d %s\n", code, time.Now().UTC().Format(timeForm))
	for {
		err := replaceFile(r.path("exit"), text, 0o644)
		all := r.segments()
		if err == nil || len(all) == 0 {
			return err
		}
		if err := os.Remove(r.segment(all[0])); err != nil {
			return err
		}
	}
}
