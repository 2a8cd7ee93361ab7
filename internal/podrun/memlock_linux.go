package podrun

import (
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/host/sysfs"
	"github.com/railhead/railhead/internal/rules/machine"
)

// Memlock is the locked-memory limit of the command, read back from the kernel.
type Memlock struct {
	Soft, Hard host.Limit
	// IPCLock is true if the command will hold CAP_IPC_LOCK in the initial user namespace: the kernel then ignores the
	// limit (drivers/infiniband/core/umem.c __ib_umem_get).
	IPCLock bool
	How     string // how the command gets CAP_IPC_LOCK
	Err     error  // the limit could not be read

	limits host.Limits // read only if the limit could not be lifted
}

// RaiseMemlock raises the limit as far as the kernel permits: to infinity with CAP_SYS_RESOURCE, or else to the hard
// limit. If a limit remains, it reads the machine, and makes CAP_IPC_LOCK ambient if the command would not have it
// otherwise. The calling goroutine stays on its thread: ambient capabilities belong to the thread that execs.
func RaiseMemlock(here sysfs.Machine) Memlock {
	runtime.LockOSThread()
	limit, err := memlock()
	if err != nil {
		return Memlock{Err: err}
	}
	if limit.Cur != unix.RLIM_INFINITY {
		raiseLimit(limit)
		limit, err = memlock()
	}
	m := Memlock{Soft: host.Limit(limit.Cur), Hard: host.Limit(limit.Max), Err: err}
	if m.Soft != host.Unlimited {
		m.limits = here.Privileges()
		if m.useCapability(); !m.IPCLock {
			m.limits = here.Limits()
		}
	}
	return m
}

func memlock() (unix.Rlimit, error) {
	var lim unix.Rlimit
	err := unix.Prlimit(0, unix.RLIMIT_MEMLOCK, nil, &lim)
	return lim, err
}

func raiseLimit(lim unix.Rlimit) {
	unlimited := unix.Rlimit{Cur: unix.RLIM_INFINITY, Max: unix.RLIM_INFINITY}
	if unix.Prlimit(0, unix.RLIMIT_MEMLOCK, &unlimited, nil) != nil {
		lim.Cur = lim.Max
		_ = unix.Prlimit(0, unix.RLIMIT_MEMLOCK, &lim, nil) // the caller reads the result
	}
}

// useCapability sets IPCLock if CAP_IPC_LOCK will be effective after execve.
func (m *Memlock) useCapability() {
	l := m.limits
	if !l.InitialUserNS.Or(false) || !l.CapPrm.Value.Has(host.CapIPCLock) {
		return
	}
	if l.UID.Or(-1) == 0 && l.CapBnd.Value.Has(host.CapIPCLock) {
		// at execve, root gets the capabilities of its bounding set (capabilities(7))
		m.IPCLock, m.How = true, "CAP_IPC_LOCK of uid 0"
		return
	}
	if err := raiseAmbient(host.CapIPCLock); err == nil {
		m.IPCLock, m.How = true, "CAP_IPC_LOCK made ambient for the command"
	}
}

// raiseAmbient makes a permitted capability inheritable and ambient on this thread.
func raiseAmbient(capability uintptr) error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return err
	}
	data[capability/32].Inheritable |= 1 << (capability % 32)
	if err := unix.Capset(&header, &data[0]); err != nil {
		return err
	}
	return unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_RAISE, capability, 0, 0)
}

// Enough reports whether the command can lock all memory of the machine.
func (m Memlock) Enough() bool {
	total, known := m.limits.MemTotal.Get()
	return m.IPCLock || m.Soft == host.Unlimited || known && m.Err == nil && uint64(m.Soft) >= total
}

// String returns the limit: unlimited, or a size.
func (m Memlock) String() string {
	switch {
	case m.Err != nil:
		return "not known (" + m.Err.Error() + ")"
	case m.IPCLock && m.Soft != host.Unlimited:
		return fmt.Sprintf("none applies to the command (%s; the rlimit stays %s)", m.How, machine.Size(m.Soft))
	case m.Soft == host.Unlimited:
		return "unlimited"
	default:
		return machine.Size(m.Soft)
	}
}

// Finding returns what is missing, with a fix for the administrator; ok is false if nothing is missing.
func (m Memlock) Finding() (f check.Finding, ok bool) {
	if m.Enough() {
		return f, false
	}
	f = machine.Memlock(m.Soft, m.Hard, m.limits)
	if m.Err != nil {
		f.Status, f.Summary = check.Unknown, "locked-memory limit could not be read: "+m.Err.Error()
	}
	return f, true
}
