package machine

import (
	"fmt"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/words"
)

// littleMemlock is too small for any training: NCCL's buffers for each rank alone are larger.
const littleMemlock = 1 << 30

// Memlock reports a locked-memory limit that is too small.
func Memlock(soft, hard host.Limit, l host.Limits) check.Finding {
	f := check.Finding{
		Check: MemlockLimit, Status: check.Warn, Subject: check.Ref{Kind: check.Pod},
		Summary: fmt.Sprintf("locked-memory limit is %s per process: "+
			"registering more than that fails with ENOMEM (\"Cannot allocate memory\")", Size(soft)),
		Evidence: lockEvidence(soft, hard, l),
		Fix:      memlockFix(nil),
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
		{
			Source: "/proc/self/limits", Got: fmt.Sprintf("Max locked memory %s soft, %s hard", soft, hard),
			Want: "unlimited",
		},
		{
			Source: "/proc/self/status", Got: fmt.Sprintf("Uid %s, CapEff %s, CapBnd %s", l.UID, l.CapEff, l.CapBnd),
			Want: "CAP_SYS_RESOURCE (bit 24) or CAP_IPC_LOCK (bit 14) in CapEff",
		},
	}
}

// inert explains why an added CAP_IPC_LOCK has no effect.
func inert(l host.Limits) string {
	switch {
	case !l.CapBnd.Value.Has(host.CapIPCLock):
		return ""
	case !l.InitialUserNS.Or(true):
		return "CAP_IPC_LOCK has no effect in a user namespace"
	case l.UID.Or(0) != 0 && !l.CapEff.Value.Has(host.CapIPCLock):
		return fmt.Sprintf("CAP_IPC_LOCK was added but has no effect for uid %d: it is only in the bounding set",
			l.UID.Value)
	}
	return ""
}

// Size writes a limit in binary units: "8 MiB".
func Size(l host.Limit) string {
	if l == host.Unlimited {
		return "unlimited"
	}
	return words.Bytes(int64(l))
}

// lock says how much memory the processes of a container can lock.
type lock int

const (
	enough lock = iota
	tooLittle
	notEnforced // the limit is unlimited, but the kernel locks less
	notRead
)

// locks believes a trial first, then the capabilities, then the limit.
func locks(s *host.Snapshot) lock {
	l := s.Limits
	tried, tested := l.Lockable.Get()
	soft, read := l.MemlockSoft.Get()
	unlimited := l.MemlockSoft.Or(0) == host.Unlimited
	passed := tried >= littleMemlock && (!read || soft >= littleMemlock || l.CapEff.Value.Has(host.CapIPCLock))
	switch {
	case passed && (tried >= host.MaxLocked || unlimited):
		return enough
	case tested && !passed && unlimited:
		return notEnforced
	case permitted(l, len(s.Launched) > 0):
		return enough
	case !tested && (!read || !l.CapEff.IsKnown()): // a capability could lift the limit
		return notRead
	}
	return tooLittle
}

// permitted reports whether a capability or the limit allows the processes to lock all memory. With launched the
// command of railhead-pod run may have more rights than this process.
func permitted(l host.Limits, launched bool) bool {
	soft, initial := l.MemlockSoft, l.InitialUserNS.Or(false)
	byMain := l.MainMemlock.Or(0) == host.Unlimited || l.MainCapEff.Value.Has(host.CapIPCLock) && initial
	return launched && byMain ||
		l.CapEff.Value.Has(host.CapIPCLock) && initial ||
		soft.Or(0) == host.Unlimited ||
		soft.IsKnown() && uint64(soft.Value) >= l.MemTotal.Or(1<<63)
}

// LocksEnough reports whether a machine's processes are known to be able to lock all the memory they register.
func LocksEnough(s host.Snapshot) bool { return locks(&s) == enough }

func ipcLock(t *subject) []check.Finding {
	l := t.Limits
	why := inert(l)
	if why == "" || locks(&t.Snapshot) != tooLittle {
		return nil
	}
	f := Memlock(l.MemlockSoft.Value, l.MemlockHard.Value, l)
	f.Check = IPCLockEffective
	f.Summary = fmt.Sprintf("%s; the limit of %s per process applies, and registering more fails with ENOMEM",
		why, Size(l.MemlockSoft.Value))
	if l.NoNewPrivs.Or(false) && l.UID.Or(0) != 0 {
		f.Evidence = append(f.Evidence, check.Evidence{
			Source: "/proc/self/status", Got: "NoNewPrivs 1: a file capability cannot add it either",
		})
	}
	f.Fix.Text += " Or run the container as uid 0 with IPC_LOCK, in the initial user namespace."
	return []check.Finding{f}
}

func memlockLimit(t *subject) []check.Finding {
	l := t.Limits
	switch locks(&t.Snapshot) {
	case enough:
		return nil
	case notRead:
		return unknownLimit(l)
	case notEnforced:
		return []check.Finding{{
			Status: check.Fail,
			Summary: fmt.Sprintf("the locked-memory limit is unlimited, but the kernel locks no more than %s: "+
				"registering memory fails with ENOMEM", Size(host.Limit(l.Lockable.Value))),
			Evidence: append(trialEvidence(l), check.Evidence{
				Source: "/proc/self/uid_map", Got: "initial user namespace: " + l.InitialUserNS.String(), Want: "true",
			}),
			Fix: memlockFix(nil),
		}}
	}
	soft := l.MemlockSoft.Value
	f := Memlock(soft, l.MemlockHard.Value, l)
	f.Evidence = append(f.Evidence, trialEvidence(l)...)
	if l.MemlockHard.Value > soft || l.CapEff.Value.Has(host.CapSysResource) && l.InitialUserNS.Or(false) {
		f.Fix = check.ByUser("Raise it before the command: the hard limit or CAP_SYS_RESOURCE allows that.",
			"railhead-pod run -- ...", `ulimit -l "$(ulimit -Hl)"`)
	}
	return []check.Finding{f}
}

func unknownLimit(l host.Limits) []check.Finding {
	switch soft := l.MemlockSoft; {
	case soft.IsKnown():
		return []check.Finding{{
			Status:   check.Unknown,
			Summary:  "locked-memory limit is " + Size(soft.Value) + "; whether a capability lifts it is unknown",
			Evidence: lockEvidence(soft.Value, l.MemlockHard.Value, l),
		}}
	case soft.IsUnreadable():
		return []check.Finding{{Status: check.Unknown, Summary: "locked-memory limit could not be read: " + soft.Why}}
	}
	return noData()
}

// trialEvidence returns how much memory this process could lock, if it tried.
func trialEvidence(l host.Limits) []check.Evidence {
	tried, ok := l.Lockable.Get()
	if !ok {
		return nil
	}
	return []check.Evidence{
		{Source: "mlock2(2) of a mapping", Got: Size(host.Limit(tried)), Want: Size(host.MaxLocked)},
	}
}

// memlockFix returns how the runtime lifts the limit; nil: the container does not show which runtime it has.
func memlockFix(r *host.Runtime) *check.Fix {
	const (
		every   = "Set an unlimited memlock for every container of the GPU nodes: "
		crio    = "CRI-O by default_ulimits, on OpenShift by a MachineConfig, which restarts the nodes of the pool once"
		service = "containerd by a drop-in of its service, which then restarts it alone"
	)
	switch {
	case r == nil:
		return check.ByAdmin(every+crio+"; "+service+".", memlockMachineConfig, memlockDropIn)
	case r.Name == "containerd":
		return check.ByAdmin(every+service+".", memlockDropIn)
	}
	return check.ByAdmin(every+crio+".", memlockMachineConfig)
}

// memlockDropIn gives containerd the limit that its containers inherit (containerd internal/cri, systemd.exec(5)).
const memlockDropIn = `mkdir -p /etc/systemd/system/containerd.service.d
printf '[Service]\nLimitMEMLOCK=infinity\n' > /etc/systemd/system/containerd.service.d/99-rdma-memlock.conf
systemctl daemon-reload && systemctl restart containerd`

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
