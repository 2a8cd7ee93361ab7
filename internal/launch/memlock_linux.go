package launch

import (
	"fmt"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
)

// Memlock is how far the locked-memory limit was lifted for the command, read back from the kernel.
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
func RaiseMemlock(machine host.Machine) Memlock {
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
		m.limits = machine.Privileges()
		if m.useCapability(); !m.IPCLock {
			m.limits = machine.Limits()
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
		return fmt.Sprintf("none applies to the command (%s; the rlimit stays %s)", m.How, size(m.Soft))
	case m.Soft == host.Unlimited:
		return "unlimited"
	default:
		return size(m.Soft)
	}
}

func size(l host.Limit) string {
	if l == host.Unlimited {
		return "unlimited"
	}
	for _, unit := range []struct {
		name  string
		shift uint
	}{{"GiB", 30}, {"MiB", 20}, {"KiB", 10}} {
		if l >= 1<<unit.shift {
			return strconv.FormatFloat(float64(l)/float64(uint64(1)<<unit.shift), 'f', -1, 64) + " " + unit.name
		}
	}
	return l.String() + " bytes"
}

// littleMemlock is what training surely exceeds: NCCL's buffers alone, registered per rank, are larger.
const littleMemlock = 1 << 30

// Finding says what is missing and how an administrator gives it; ok is false when nothing is missing.
func (m Memlock) Finding() (f check.Finding, ok bool) {
	if m.Enough() {
		return f, false
	}
	l := m.limits
	f = check.Finding{
		Check: MemlockLimit, Status: check.Warn, Subject: "pod",
		Summary: fmt.Sprintf("locked-memory limit is %s per process: registering more than that fails with ENOMEM (\"Cannot allocate memory\")", size(m.Soft)),
		Evidence: []check.Evidence{
			{Source: "/proc/self/limits", Got: fmt.Sprintf("Max locked memory %s soft, %s hard", m.Soft, m.Hard), Want: "unlimited"},
			{Source: "/proc/self/status", Got: fmt.Sprintf("Uid %s, CapEff %s, CapBnd %s", l.UID, l.CapEff, l.CapBnd), Want: "CAP_SYS_RESOURCE (bit 24) or CAP_IPC_LOCK (bit 14) in CapEff"},
		},
		Fix: &check.Fix{Text: memlockFix, Commands: []string{memlockMachineConfig}, Who: check.Admin},
	}
	switch {
	case m.Err != nil:
		f.Status, f.Summary = check.Unknown, "locked-memory limit could not be read: "+m.Err.Error()
	case m.Soft < littleMemlock:
		f.Status = check.Fail
	}
	if why := inert(l); why != "" {
		f.Summary += "; " + why
	}
	return f, true
}

// inert explains a CAP_IPC_LOCK that was given and does nothing.
func inert(l host.Limits) string {
	switch {
	case !l.CapBnd.Value.Has(host.CapIPCLock):
		return ""
	case l.InitialUserNS.IsKnown() && !l.InitialUserNS.Value:
		return "CAP_IPC_LOCK does not count in a user namespace"
	case l.UID.Or(0) != 0 && !l.CapEff.Value.Has(host.CapIPCLock):
		return fmt.Sprintf("CAP_IPC_LOCK was added but is inert for uid %d: only in the bounding set", l.UID.Value)
	}
	return ""
}

const memlockFix = "Give every container of the GPU nodes an unlimited memlock by default (CRI-O; with containerd: LimitMEMLOCK=infinity on its service). This restarts the nodes of the pool once."

// memlockMachineConfig holds the drop-in "[crio.runtime] default_ulimits"; later drop-ins replace the list, so entries
// that are already there must be kept (cri-o docs/crio.conf.5.md).
const memlockMachineConfig = `apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfig
metadata:
  name: 99-worker-rdma-memlock
  labels:
    machineconfiguration.openshift.io/role: worker
spec:
  config:
    ignition:
      version: 3.2.0
    storage:
      files:
      - path: /etc/crio/crio.conf.d/99-rdma-memlock.conf
        mode: 420
        overwrite: true
        contents:
          source: data:,%5Bcrio.runtime%5D%0Adefault_ulimits%20%3D%20%5B%0A%20%20%22memlock%3D-1%3A-1%22%2C%0A%5D%0A`
