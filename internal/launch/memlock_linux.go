package launch

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
	Before host.Limit // soft limit at the start
	Soft   host.Limit // soft limit now
	Hard   host.Limit
	// IPCLock: the command will hold CAP_IPC_LOCK in the initial user namespace, and no limit applies to it
	// (drivers/infiniband/core/umem.c __ib_umem_get).
	IPCLock bool
	How     string // the rung of the ladder that was reached, in words
	Err     error  // the limit could not be read

	limits host.Limits // read only when the limit could not be lifted
}

// RaiseMemlock climbs the ladder as far as the kernel lets it: soft limit to hard limit; hard limit by
// CAP_SYS_RESOURCE; CAP_IPC_LOCK where the command will have it, else made ambient so that it will.
// The calling goroutine stays on its thread: ambient capabilities belong to the thread that execs.
// The machine is asked only where the rlimit could not be lifted.
func RaiseMemlock(here sysfs.Machine) Memlock {
	runtime.LockOSThread()
	before, err := memlock()
	if err != nil {
		return Memlock{Err: err}
	}
	m := Memlock{Before: host.Limit(before.Cur), How: "as it was"}
	if before.Cur == unix.RLIM_INFINITY {
		m.How = "it was unlimited"
	} else {
		m.raiseLimit(before)
	}
	if after, err := memlock(); err == nil {
		m.Soft, m.Hard = host.Limit(after.Cur), host.Limit(after.Max)
	} else {
		m.Err = err
	}
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

func (m *Memlock) raiseLimit(lim unix.Rlimit) {
	unlimited := unix.Rlimit{Cur: unix.RLIM_INFINITY, Max: unix.RLIM_INFINITY}
	if unix.Prlimit(0, unix.RLIMIT_MEMLOCK, &unlimited, nil) == nil {
		m.How = "raised by CAP_SYS_RESOURCE"
		if lim.Max == unix.RLIM_INFINITY {
			m.How = "soft limit raised to the hard limit"
		}
		return
	}
	if lim.Cur < lim.Max {
		lim.Cur = lim.Max
		if unix.Prlimit(0, unix.RLIMIT_MEMLOCK, &lim, nil) == nil {
			m.How = "soft limit raised to the hard limit"
		}
	}
}

// useCapability counts on CAP_IPC_LOCK only where it will be effective after execve.
func (m *Memlock) useCapability() {
	l := m.limits
	if !l.InitialUserNS.Or(false) || !l.CapPrm.Value.Has(host.CapIPCLock) {
		return
	}
	if l.UID.Or(-1) == 0 && l.CapBnd.Value.Has(host.CapIPCLock) {
		// root gets its bounding set back at execve (capabilities(7))
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

// Enough reports whether the command can lock all the memory there is.
func (m Memlock) Enough() bool {
	total, known := m.limits.MemTotal.Get()
	return m.IPCLock || m.Soft == host.Unlimited || known && m.Err == nil && uint64(m.Soft) >= total
}

// String is the limit as people grep for it: "unlimited", or bytes.
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

// Finding says what is missing and how an administrator gives it; ok is false when nothing is missing.
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
