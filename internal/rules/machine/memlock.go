package machine

import (
	"fmt"
	"strconv"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
)

// littleMemlock is a limit that every training exceeds: NCCL's buffers alone, registered for each rank, are larger.
const littleMemlock = 1 << 30

// Memlock is a limit of locked memory that does not suffice, as a finding.
func Memlock(soft, hard host.Limit, l host.Limits) check.Finding {
	f := check.Finding{
		Check: MemlockLimit, Status: check.Warn, Subject: check.Ref{Kind: check.Pod},
		Summary:  fmt.Sprintf("locked-memory limit is %s per process: registering more than that fails with ENOMEM (\"Cannot allocate memory\")", Size(soft)),
		Evidence: lockEvidence(soft, hard, l),
		Fix:      forAdmin(memlockFix, memlockMachineConfig),
	}
	if soft < littleMemlock {
		f.Status = check.Fail
	}
	if why := inert(l); why != "" {
		f.Summary += "; " + why
	}
	return f
}

func lockEvidence(soft, hard host.Limit, l host.Limits) []check.Evidence {
	return []check.Evidence{
		{Source: "/proc/self/limits", Got: fmt.Sprintf("Max locked memory %s soft, %s hard", soft, hard), Want: "unlimited"},
		{Source: "/proc/self/status", Got: fmt.Sprintf("Uid %s, CapEff %s, CapBnd %s", l.UID, l.CapEff, l.CapBnd), Want: "CAP_SYS_RESOURCE (bit 24) or CAP_IPC_LOCK (bit 14) in CapEff"},
	}
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

// Size is a limit as people write it: "8 MiB".
func Size(l host.Limit) string {
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

// lock is the locked-memory limit of a container's processes.
type lock int

const (
	enough lock = iota
	tooLittle
	notEnforced // the limit says one thing, and the kernel does another
	notRead
)

// locks tries the facts in the order of their weight: what was tried, what is held, what is written.
func locks(l host.Limits, launched bool) lock {
	tried, known := l.Lockable.Get()
	soft, read := l.MemlockSoft.Get()
	main := l.MainMemlock.Or(0) == host.Unlimited || l.MainCapEff.Value.Has(host.CapIPCLock) && l.InitialUserNS.Or(false)
	switch {
	case known && tried >= littleMemlock && (!read || soft >= littleMemlock || l.CapEff.Value.Has(host.CapIPCLock)):
		if tried >= host.MaxLocked || soft == host.Unlimited {
			return enough
		}
	case known && read && soft == host.Unlimited:
		return notEnforced
	}
	switch {
	case launched && main: // railhead-pod lifted it for the command
		return enough
	case soft == host.Unlimited && read, l.CapEff.Value.Has(host.CapIPCLock) && l.InitialUserNS.Or(false):
		return enough
	case !read && !known:
		return notRead
	case read && uint64(soft) >= l.MemTotal.Or(1<<63):
		return enough
	case !known && !l.CapEff.IsKnown():
		return notRead // a capability may lift it
	}
	return tooLittle
}

// LocksEnough reports whether a machine's processes are known to be able to lock all the memory they register.
func LocksEnough(s host.Snapshot) bool { return locks(s.Limits, len(s.Launched) > 0) == enough }

func ipcLock(t *subject) []check.Finding {
	why := inert(t.Limits)
	if why == "" || locks(t.Limits, len(t.Launched) > 0) != tooLittle {
		return nil
	}
	f := Memlock(t.Limits.MemlockSoft.Value, t.Limits.MemlockHard.Value, t.Limits)
	f.Check = IPCLockEffective
	f.Summary = fmt.Sprintf("%s; so the limit of %s per process holds, and registering more fails with ENOMEM", why, Size(t.Limits.MemlockSoft.Value))
	if t.Limits.NoNewPrivs.Or(false) && t.Limits.UID.Or(0) != 0 {
		f.Evidence = append(f.Evidence, check.Evidence{Source: "/proc/self/status", Got: "NoNewPrivs 1: no file capability can give it either"})
	}
	f.Fix = forAdmin(memlockFix+" Or run the container as uid 0 with IPC_LOCK, in the initial user namespace.", memlockMachineConfig)
	return []check.Finding{f}
}

func memlockLimit(t *subject) []check.Finding {
	l := t.Limits
	soft := l.MemlockSoft.Value
	switch locks(l, len(t.Launched) > 0) {
	case enough:
		return nil
	case notRead:
		switch {
		case l.MemlockSoft.IsKnown():
			return one(MemlockLimit, check.Unknown, check.Ref{Kind: check.Pod}, "locked-memory limit is "+Size(soft)+", and whether a capability lifts it is not known", nil, lockEvidence(soft, l.MemlockHard.Value, l)...)
		case l.MemlockSoft.IsUnreadable():
			return one(MemlockLimit, check.Unknown, check.Ref{Kind: check.Pod}, "locked-memory limit could not be read: "+l.MemlockSoft.Why, nil)
		}
		return notLooked(MemlockLimit)
	case notEnforced:
		return one(MemlockLimit, check.Fail, check.Ref{Kind: check.Pod},
			fmt.Sprintf("the locked-memory limit says unlimited, and the kernel locks no more than %s: registering memory fails with ENOMEM", Size(host.Limit(l.Lockable.Value))),
			forAdmin(memlockFix, memlockMachineConfig),
			check.Evidence{Source: "mlock2(2) of a mapping", Got: Size(host.Limit(l.Lockable.Value)), Want: Size(host.MaxLocked)},
			check.Evidence{Source: "/proc/self/uid_map", Got: "initial user namespace: " + l.InitialUserNS.String(), Want: "true"})
	}
	f := Memlock(soft, l.MemlockHard.Value, l)
	if tried, ok := l.Lockable.Get(); ok {
		f.Evidence = append(f.Evidence, check.Evidence{Source: "mlock2(2) of a mapping", Got: Size(host.Limit(tried)), Want: Size(host.MaxLocked)})
	}
	if l.MemlockHard.Value > soft || l.CapEff.Value.Has(host.CapSysResource) && l.InitialUserNS.Or(false) {
		f.Fix = forUser("Lift it in front of the command: the hard limit allows it, or CAP_SYS_RESOURCE does.", "railhead-pod run -- ...", "ulimit -l unlimited")
	}
	return []check.Finding{f}
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
