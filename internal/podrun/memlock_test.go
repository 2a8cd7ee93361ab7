//go:build linux

package podrun

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/host/sysfs"
	"github.com/railhead/railhead/internal/rules/machine"
)

const (
	kib       = 1 << 10
	mib       = 1 << 20
	unlimited = unix.RLIM_INFINITY
	nobody    = 65534
)

// What the command can lock under a hard limit of 1 MiB, under none, and under a limit of nothing.
var (
	upTo1MiB   = map[string]string{"256K": "", "768K": "", "2M": "ENOMEM"}
	everything = map[string]string{"256K": "", "768K": "", "2M": ""}
	nothing    = map[string]string{"256K": "EPERM", "768K": "EPERM", "2M": "EPERM"}
)

// rung is a situation, what the launcher must claim of it, and what the command must then be able to do.
type rung struct {
	name  string
	given limits

	fileCap, ambient bool // how the launcher has CAP_IPC_LOCK
	userNamespace    bool

	words, how string
	status     check.Status // of the finding; Pass: none
	because    string       // in the finding's summary
	soft, hard uint64
	locks      map[string]string
}

// TestMemlockWithoutPrivileges holds for a user without any capability that counts.
func TestMemlockWithoutPrivileges(t *testing.T) {
	l := privileges(t)
	for _, r := range []rung{
		{
			name: "soft limit below the hard one", given: limits{Soft: 512 * kib, Hard: mib},
			words: "1 MiB", status: check.Fail, because: "limit is 1 MiB per process",
			soft: mib, hard: mib, locks: upTo1MiB,
		},
		{
			name: "nothing helps", given: limits{Soft: mib, Hard: mib},
			words: "1 MiB", status: check.Fail, because: "fails with ENOMEM",
			soft: mib, hard: mib, locks: upTo1MiB,
		},
		{
			name: "no memory may be locked", given: limits{},
			words: "0 B", status: check.Fail, because: "limit is 0 B per process",
			locks: nothing,
		},
		{
			name: "soft limit below no limit", given: limits{Soft: 512 * kib, Hard: unlimited},
			words: "unlimited",
			soft:  unlimited, hard: unlimited, locks: everything,
		},
		{
			name: "no limit", given: limits{Soft: unlimited, Hard: unlimited},
			words: "unlimited",
			soft:  unlimited, hard: unlimited, locks: everything,
		},
		{
			name: "limit above all the memory there is", given: limits{Soft: mib, Hard: 1 << 50},
			words: "1048576 GiB",
			soft:  1 << 50, hard: 1 << 50, locks: everything,
		},
	} {
		t.Run(r.name, func(t *testing.T) {
			r.given.Powerless = true
			if l.UID.Value == 0 && l.InitialUserNS.Value {
				r.given.User = nobody // execve would give uid 0 its capabilities back
			}
			r.check(t)
		})
	}
}

// TestMemlockInertCapability: "add: [IPC_LOCK]" has no effect for a user other than root.
func TestMemlockInertCapability(t *testing.T) {
	l := privileges(t)
	user := l.UID.Value
	if !l.CapBnd.Value.Has(host.CapIPCLock) || !l.InitialUserNS.Value {
		t.Skipf("not in the initial user namespace with CAP_IPC_LOCK in the bounding set: CapBnd %s", l.CapBnd)
	}
	given := limits{Soft: mib, Hard: mib, Powerless: true}
	if user == 0 {
		user, given.User = nobody, nobody
	}
	rung{
		given: given,
		words: "1 MiB", status: check.Fail,
		because: fmt.Sprintf("; CAP_IPC_LOCK was added but has no effect for uid %d: "+
			"it is only in the bounding set", user),
		soft: mib, hard: mib, locks: upTo1MiB,
	}.check(t)
}

// TestMemlockByCapability: the rlimit cannot be lifted, and a capability may or may not stand in for it.
func TestMemlockByCapability(t *testing.T) {
	l := privileges(t)
	noSysResource := []uintptr{host.CapSysResource}
	neither := []uintptr{host.CapSysResource, host.CapIPCLock}
	const ofRoot = "none applies to the command (CAP_IPC_LOCK of uid 0; the rlimit stays 1 MiB)"
	const ambient = "none applies to the command (CAP_IPC_LOCK made ambient for the command; the rlimit stays 1 MiB)"
	for _, r := range []rung{
		{
			name: "root with CAP_IPC_LOCK", given: limits{DropBounding: noSysResource},
			words: ofRoot, how: "CAP_IPC_LOCK of uid 0", locks: everything,
		},
		{
			name: "root with CAP_IPC_LOCK and no_new_privs", given: limits{
				DropBounding: noSysResource,
				NoNewPrivs:   true,
			},
			words: ofRoot, how: "CAP_IPC_LOCK of uid 0", locks: everything,
		},
		{
			name: "root that gave CAP_IPC_LOCK up", given: limits{
				DropBounding: noSysResource,
				Powerless:    true,
				NoNewPrivs:   true,
			},
			words: "1 MiB", status: check.Fail, because: "limit is 1 MiB per process", locks: upTo1MiB,
		},
		{
			name: "root without CAP_IPC_LOCK", given: limits{DropBounding: neither},
			words: "1 MiB", status: check.Fail, because: "limit is 1 MiB per process", locks: upTo1MiB,
		},
		{
			name: "root of a user namespace", userNamespace: true,
			words: "1 MiB", status: check.Fail, because: "; CAP_IPC_LOCK has no effect in a user namespace",
			locks: upTo1MiB,
		},
		{
			name: "other user and a launcher with a file capability", fileCap: true, given: limits{User: nobody},
			words: ambient, how: "CAP_IPC_LOCK made ambient for the command", locks: everything,
		},
		{
			name: "file capability and no_new_privs", fileCap: true, given: limits{User: nobody, NoNewPrivs: true},
			words: "1 MiB", status: check.Fail, because: "no effect for uid 65534", locks: upTo1MiB,
		},
		{
			name: "file capability that may not be passed on", fileCap: true,
			given: limits{User: nobody, NoAmbient: true},
			words: "1 MiB", status: check.Fail, because: "limit is 1 MiB per process", locks: upTo1MiB,
		},
		{
			name: "other user with an ambient capability", ambient: true,
			words: ambient, how: "CAP_IPC_LOCK made ambient for the command", locks: everything,
		},
	} {
		t.Run(r.name, func(t *testing.T) {
			switch {
			case !l.InitialUserNS.Value && !r.userNamespace:
				t.Skip("capabilities do not count here: not the initial user namespace")
			case r.fileCap && l.NoNewPrivs.Value:
				t.Skip("file capabilities have no effect here: no_new_privs is set")
			case r.words == ofRoot && (l.UID.Value != 0 || !l.CapPrm.Value.Has(host.CapIPCLock)):
				t.Skipf("this process is uid %s with CapPrm %s, not root with CAP_IPC_LOCK", l.UID, l.CapPrm)
			}
			r.given.Soft, r.given.Hard, r.soft, r.hard = mib, mib, mib, mib
			r.check(t)
		})
	}
}

func TestMemlockBySysResource(t *testing.T) {
	r := rung{
		given: limits{Soft: 512 * kib, Hard: mib, DropBounding: []uintptr{host.CapIPCLock}},
		words: "unlimited",
		soft:  unlimited, hard: unlimited, locks: everything,
	}
	if l := privileges(t); !l.CapEff.Value.Has(host.CapSysResource) || !l.InitialUserNS.Value {
		t.Skipf("this process has no CAP_SYS_RESOURCE in the initial user namespace: CapEff %s", l.CapEff)
	}
	r.check(t)
}

func privileges(t *testing.T) host.Limits {
	t.Helper()
	here, err := sysfs.Open("/")
	if err != nil {
		t.Fatal(err)
	}
	return here.Privileges()
}

// check makes the situation in processes of its own.
func (r rung) check(t *testing.T) {
	t.Helper()
	said, truth := r.play(t)
	if said.Words != r.words || said.How != r.how {
		t.Errorf("said %q (%s), want %q (%s)", said.Words, said.How, r.words, r.how)
	}
	if truth.Soft != r.soft || truth.Hard != r.hard {
		t.Errorf("the command has limits %d soft, %d hard, want %d, %d", truth.Soft, truth.Hard, r.soft, r.hard)
	}
	if diff := cmp.Diff(r.locks, truth.Locks); diff != "" {
		t.Errorf("what the command can lock (-want +got):\n%s", diff)
	}
	switch f := said.Finding; {
	case r.status == check.Pass && f != nil:
		t.Errorf("finding %q, want none", f.Summary)
	case r.status == check.Pass:
	case f == nil:
		t.Errorf("no finding, want one with %q", r.because)
	case f.Check != machine.MemlockLimit || f.Status != r.status || !strings.Contains(f.Summary, r.because):
		t.Errorf("finding %s: %s %q, want %s with %q", f.Check, f.Status, f.Summary, r.status, r.because)
	case f.Fix == nil || f.Fix.Who != check.Admin || len(f.Fix.Commands) == 0:
		t.Errorf("fix %+v, want commands for an administrator", f.Fix)
	}
}

func (r rung) play(t *testing.T) (*raised, *command) {
	t.Helper()
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer self.Close()
	raises := self
	if r.fileCap {
		raises = withFileCap(t, self)
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = step{Do: "prepare", Given: &r.given}.environ()
	cmd.ExtraFiles = []*os.File{self, raises} // reporter, raiser
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	if r.userNamespace {
		cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Geteuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getegid(), Size: 1}}
	}
	if r.ambient {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
		cmd.SysProcAttr.AmbientCaps = []uintptr{host.CapIPCLock}
	}
	output, err := cmd.Output()
	if cmd.Process == nil && (r.userNamespace || r.ambient) { // EPERM; ENOSPC where no user namespace may be made
		t.Skipf("such a process may not be started here: %v", err)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	return decode(t, string(output), cmd.Process.Pid)
}

// decode reads what the steps told; they must all have been one process.
func decode(t *testing.T, output string, pid int) (said *raised, truth *command) {
	t.Helper()
	for d := json.NewDecoder(strings.NewReader(output)); ; {
		var line told
		if err := d.Decode(&line); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("%v in %q", err, output)
		}
		if line.Forbidden != "" {
			t.Skipf("not permitted here: %s", line.Forbidden)
		}
		if line.Raised != nil {
			said = line.Raised
		}
		if line.Truth != nil {
			truth = line.Truth
		}
	}
	if said == nil || truth == nil || truth.PID != pid {
		t.Fatalf("process %d told %s", pid, output)
	}
	return said, truth
}
