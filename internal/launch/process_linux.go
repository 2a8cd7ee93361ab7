package launch

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// process is a program that runs beside this one, in a process group of its own; the zero value has ended.
type process struct {
	pid  int // 0 when it was waited for
	file int // what it writes to
	code int // as a shell has it
}

// spawn starts a program.
func spawn(argv, env []string) (p process, err error) {
	args, err := syscall.SlicePtrFromStrings(argv)
	if err != nil {
		return p, err
	}
	vars, err := syscall.SlicePtrFromStrings(env)
	if err != nil {
		return p, err
	}
	if p.file, err = unix.MemfdCreate("perftest", unix.MFD_CLOEXEC); err != nil {
		return p, err
	}
	var none, before unix.Sigset_t
	for i := range none.Val {
		none.Val[i] = ^none.Val[i]
	}
	if err = unix.PthreadSigmask(unix.SIG_SETMASK, &none, &before); err != nil {
		return p, err
	}
	pid, errno := fork(&args[0], &vars[0], uintptr(p.file), uintptr(unix.Getpid()))
	err = unix.PthreadSigmask(unix.SIG_SETMASK, &before, nil)
	if p.pid = int(pid); errno != 0 {
		p.pid, err = 0, errno
	}
	return p, err
}

// fork makes a copy of this thread that becomes a program, which is killed when this thread ends (PR_SET_PDEATHSIG), so
// that no signal needs to be handled for its sake. It is what syscall.ForkExec does without what is not needed here, which
// would take railhead-pod 17 kB. No signal may come, since the copy has one thread of the Go runtime: the program keeps
// them blocked, which is nothing to SIGKILL. Its stdin is this one's.
//
//go:norace
//go:nosplit
func fork(argv, env **byte, file, parent uintptr) (uintptr, syscall.Errno) {
	pid, _, errno := syscall.RawSyscall(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0)
	if errno != 0 || pid != 0 {
		return pid, errno
	}
	_, _, _ = syscall.RawSyscall(unix.SYS_PRCTL, unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0)
	if now, _, _ := syscall.RawSyscall(unix.SYS_GETPPID, 0, 0, 0); now != parent { // it died before that
		_, _, _ = syscall.RawSyscall(unix.SYS_EXIT_GROUP, CannotInvoke, 0, 0)
	}
	_, _, _ = syscall.RawSyscall(unix.SYS_SETPGID, 0, 0, 0)
	_, _, _ = syscall.RawSyscall(unix.SYS_DUP3, file, 1, 0)
	_, _, _ = syscall.RawSyscall(unix.SYS_DUP3, file, 2, 0)
	_, _, _ = syscall.RawSyscall(unix.SYS_EXECVE, uintptr(unsafe.Pointer(*argv)), uintptr(unsafe.Pointer(argv)), uintptr(unsafe.Pointer(env)))
	for {
		_, _, _ = syscall.RawSyscall(unix.SYS_EXIT_GROUP, CannotInvoke, 0, 0)
	}
}

// ended reports whether a process has ended.
func (p *process) ended() bool {
	var status syscall.WaitStatus
	if p.pid == 0 {
		return true
	}
	if pid, err := syscall.Wait4(p.pid, &status, syscall.WNOHANG, nil); pid == 0 && err == nil || err == syscall.EINTR {
		return false
	}
	if p.pid, p.code = 0, status.ExitStatus(); status.Signaled() {
		p.code = 128 + int(status.Signal())
	}
	return true
}

// kill ends a process and what it started.
func (p *process) kill() {
	if !p.ended() {
		_ = unix.Kill(-p.pid, unix.SIGKILL) // it was not waited for, so that the number is its own
	}
}

// said is what a process that has ended wrote, once.
func (p *process) said() string {
	text := make([]byte, 64<<10)
	n, _ := unix.Pread(p.file, text, 0) // it said nothing
	_ = unix.Close(p.file)
	return string(text[:max(n, 0)])
}
