// Package pid1 is the first process of a virtual machine: it sets up the machine as its Config describes and keeps it
// so.
//
// It is two processes. The first only starts the second and reaps processes that end without a parent. All work is in
// the second, so that os/exec may wait for children there, and so that a crash of it is told by the first instead of
// stopping the kernel.
package pid1

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/railhead/railhead/lab/machines/guest"
	"github.com/railhead/railhead/lab/machines/guest/boot"
)

// Arguments select the role of this program. Without one it is the first process.
const (
	Worker  = "machine"
	Crashed = "crashed" // a worker that tells of the crash of the one before, whose words are in the variable crashEnv
)

const crashEnv = "LAB_CRASH"

// self is this program: the kernel executes it under that name.
const self = guest.Init

// First is the first process. It returns only an error that prevents the start.
func First() error {
	if err := boot.Root(); err != nil {
		return err
	}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, unix.SIGCHLD, unix.SIGTERM, unix.SIGINT, unix.SIGPWR)
	// Ctrl-Alt-Del is a SIGINT then, not a reset (reboot(2), LINUX_REBOOT_CMD_CAD_OFF).
	if err := unix.Reboot(unix.LINUX_REBOOT_CMD_CAD_OFF); err != nil {
		return fmt.Errorf("take Ctrl-Alt-Del: %w", err)
	}
	var f first
	if err := f.start(Worker); err != nil {
		return err
	}
	for s := range signals {
		if s == unix.SIGCHLD {
			f.reap()
		} else {
			PowerOff()
		}
	}
	return nil
}

// first is the state of the first process.
type first struct {
	worker  int // pid
	crashed bool
	words   *lastWords
	heard   chan struct{} // closed when the worker's last words are read
}

// start starts a worker, whose output goes to the kernel's log.
func (f *first) start(role string, env ...string) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer w.Close()
	// Not os.StartProcess, whose processes are waited for one by one.
	f.worker, err = syscall.ForkExec(self, []string{self, role}, &syscall.ProcAttr{
		Env:   append(Environment(), env...),
		Files: []uintptr{0, w.Fd(), w.Fd()},
	})
	if err != nil {
		r.Close()
		return fmt.Errorf("start %s %s: %w", self, role, err)
	}
	f.words, f.heard = &lastWords{to: kernelLog{}}, make(chan struct{})
	go func() {
		defer close(f.heard)
		_, _ = io.Copy(f.words, r)
		r.Close()
	}()
	return nil
}

// reap takes the ends of all children that have ended.
func (f *first) reap() {
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, unix.WNOHANG, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil || pid == 0:
			return
		case pid == f.worker:
			f.ended(status)
		}
	}
}

// ended starts a worker that tells of the end of the one before. When that one ends, too, the machine is left as it is.
func (f *first) ended(status unix.WaitStatus) {
	how := fmt.Sprintf("exit code %d", status.ExitStatus())
	if status.Signaled() {
		how = status.Signal().String()
	}
	fmt.Fprintf(kernelLog{}, "FAILED: init ended: %s", how)
	if f.crashed {
		return
	}
	f.crashed = true
	<-f.heard
	words := fmt.Sprintf("init ended: %s: %s", how, f.words)
	if err := f.start(Crashed, crashEnv+"="+strings.ReplaceAll(words, "\x00", "")); err != nil {
		fmt.Fprint(kernelLog{}, err.Error())
	}
}

// Environment returns the variables of every program of a machine.
func Environment() []string {
	return []string{"PATH=" + path, "HOME=/root", "LANG=C.UTF-8"}
}

// PowerOff switches the machine off. Nothing that it has needs to be written.
func PowerOff() {
	if err := unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF); err != nil {
		fmt.Fprintf(kernelLog{}, "power off: %v", err)
	}
}
