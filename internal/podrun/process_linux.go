package podrun

import (
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/railhead/railhead/internal/exit"
)

// process is a child that leads its process group. The zero value is a process that has ended.
type process struct {
	pid    int // 0 after wait
	output int // an anonymous file with stdout and stderr
	code   exit.Code
}

// spawn starts a program that the kernel kills when this thread ends (PR_SET_PDEATHSIG), so that no signal handler has
// to clean up. The caller must stay on its thread.
func spawn(argv, env []string) (p process, err error) {
	if p.output, err = unix.MemfdCreate("perftest", unix.MFD_CLOEXEC); err != nil {
		return p, err
	}
	p.pid, err = syscall.ForkExec(argv[0], argv, &syscall.ProcAttr{
		Env:   env,
		Files: []uintptr{0, uintptr(p.output), uintptr(p.output)},
		Sys:   &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL},
	})
	if err != nil {
		_ = unix.Close(p.output)
	}
	return p, err
}

// ended reports whether the process has ended.
func (p *process) ended() bool {
	var status syscall.WaitStatus
	if p.pid == 0 {
		return true
	}
	if pid, err := syscall.Wait4(p.pid, &status, syscall.WNOHANG, nil); pid == 0 && err == nil || err == syscall.EINTR {
		return false
	}
	if p.pid, p.code = 0, exit.Code(status.ExitStatus()); status.Signaled() {
		p.code = exit.Signalled(int(status.Signal()))
	}
	return true
}

// kill kills the process group.
func (p *process) kill() {
	if !p.ended() {
		_ = unix.Kill(-p.pid, unix.SIGKILL) // before wait, the kernel does not reuse the pid
	}
}

// takeOutput returns the output of a process that has ended, at most 64 KiB, and closes it.
func (p *process) takeOutput() string {
	text := make([]byte, 64<<10)
	n, _ := unix.Pread(p.output, text, 0)
	_ = unix.Close(p.output)
	return string(text[:max(n, 0)])
}
