//go:build linux

package podcli

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/railhead/railhead/internal/host"
	rules "github.com/railhead/railhead/internal/rules/machine"
)

var memlockLine = regexp.MustCompile(`^Memory lock limit: (?:(unlimited)|(\d+) (KiB|MiB|GiB|bytes)|(none applies) to the command \(.*; the rlimit stays .*\))$`)

// memoryLock holds what was said against what the command has.
func (s staged) memoryLock(t *testing.T) {
	o := s.run(t, pod, "--", "sh", "-c", "ulimit -l; grep CapEff: /proc/self/status")
	limit, status, _ := strings.Cut(o.stdout, "\n")
	lines := append(o.lines(), "")
	said := memlockLine.FindStringSubmatch(lines[0])
	if said == nil {
		t.Fatalf("first line %q", lines[0])
	}
	var caps host.Caps
	if err := caps.UnmarshalText([]byte(strings.TrimSpace(strings.TrimPrefix(status, "CapEff:")))); err != nil {
		t.Fatal(err)
	}
	units := map[string]int{"KiB": 1, "MiB": 1 << 10, "GiB": 1 << 20}
	number, _ := strconv.Atoi(said[2])
	switch {
	case said[1] != "" && limit == "unlimited":
	case said[4] != "" && limit != "unlimited" && caps.Has(host.CapIPCLock):
	case said[2] != "" && limit == strconv.Itoa(number*units[said[3]]):
	default:
		t.Errorf("said %q; the command has a limit of %s KiB, %s", lines[0], limit, status)
	}
}

// memoryLockOfUserNamespace: in a user namespace nothing can raise the limit, and even a quiet run says so.
func (s staged) memoryLockOfUserNamespace(t *testing.T) {
	cmd := s.on(pod, nil, "sh", "-c", `ulimit -l 64 && exec "$0" run -q --mode auto -- sh -c 'ulimit -l'`, s.pod)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getegid(), Size: 1}},
	}
	if err := exec.Command("unshare", "--user", "true").Run(); err != nil {
		t.Skipf("user namespaces are not permitted here: unshare: %v", err)
	}
	o := run1(t, cmd)
	if o.code == notPermitted {
		t.Skip(o.stderr)
	}
	if o.code != 0 || o.stdout != "64\n" {
		t.Errorf("exit %d, limit of the command %q", o.code, o.stdout)
	}
	for _, want := range []string{
		"fail: locked-memory limit is 64 KiB per process", "CAP_IPC_LOCK has no effect in a user namespace [" + string(rules.MemlockLimit) + "]",
		"seen: /proc/self/limits: Max locked memory 65536 soft, 65536 hard (want unlimited)", "fix (admin): ", "kind: MachineConfig",
	} {
		if !strings.Contains(o.stderr, want) {
			t.Errorf("no %q in:\n%s", want, o.stderr)
		}
	}
}
