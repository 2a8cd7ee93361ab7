//go:build linux

package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestMain lets the test binary be the program: stage starts itself again.
func TestMain(m *testing.M) {
	if os.Args[0] == insideName {
		os.Exit(inside(os.Args[1:]))
	}
	if os.Getenv("STAGE_TEST_MAIN") != "" {
		os.Exit(outside(os.Args[1:]))
	}
	os.Exit(m.Run())
}

const machine = `A pod with two virtual functions, of which the second one's node may not be opened.
-- probes.json --
{"environ": {"NCCL_DEBUG": "INFO"}, "shmBytes": 1048576,
 "open": {"dev/infiniband/uverbs0": "ok", "dev/infiniband/uverbs1": "EPERM", "dev/infiniband/uverbs2": "ENXIO"},
 "addresses": {"1": ["127.0.0.1/8"], "7": ["10.128.2.15/23", "fd00::15/64", "fe80::1/64"]}}
-- sys/devices/pci0000:16/0000:16:00.0/infiniband/mlx5_0/ports/1/state --
4: ACTIVE
-- sys/devices/pci0000:16/0000:16:00.0/infiniband/mlx5_0/ports/1/gid_attrs/types/9 ! EINVAL --
-- sys/class/infiniband/mlx5_0 -> ../../devices/pci0000:16/0000:16:00.0/infiniband/mlx5_0 --
-- sys/class/net/lo/ifindex --
1
-- sys/class/net/eth0/ifindex --
7
-- dev/infiniband/uverbs0 --
-- dev/infiniband/uverbs1 --
-- dev/infiniband/uverbs2 --
-- proc/cmdline --
quiet iommu=pt
-- proc/self/limits --
Max locked memory         1                    1                    bytes
-- proc/driver/nvidia/version --
NVRM version: 570
-- proc/net/route --
Iface	Destination	Gateway 	Flags	RefCnt	Use	Metric	Mask		MTU	Window	IRTT
eth0	00000000	0102800A	0003	0	0	100	00000000	0	0	0
-- etc/nccl.conf --
NCCL_IB_TC=106
-- etc/passwd --
-- var/run/secrets/kubernetes.io/serviceaccount/namespace --
training
-- no-such-folder/file --
x
`

func TestStage(t *testing.T) {
	for _, tc := range []struct{ name, script, want string }{
		{"sysfs follows its links", "cat /sys/class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE\n"},
		{"sysfs is read-only", "echo x >/sys/class/x && echo written", ""},
		{"failed file is empty", "wc -c </sys/class/infiniband/mlx5_0/ports/1/gid_attrs/types/9", "0\n"},
		{"node opens", "exec 3<>/dev/infiniband/uverbs0 && echo opened", "opened\n"},
		{"node without permission", "exec 3<>/dev/infiniband/uverbs1 && echo opened", ""},
		{"node without device", "exec 3<>/dev/infiniband/uverbs2 && echo opened", ""},
		{"null device", "echo x >/dev/null && echo written", "written\n"},
		{"size of shm", "stat -f -c '%b %S' /dev/shm | { read b s; echo $((b * s)); }", "1048576\n"},
		{"kernel command line", "cat /proc/cmdline", "quiet iommu=pt\n"},
		{"real limits", "grep -c 'locked memory *1 ' /proc/self/limits", "0\n"},
		{"GPU driver", "cat /proc/driver/nvidia/version", "NVRM version: 570\n"},
		{"configuration", "cat /etc/nccl.conf", "NCCL_IB_TC=106\n"},
		{"passwd of this machine", "head -c 5 /etc/passwd", "root:"},
		{"file below a link of this machine", "cat /run/secrets/*/*/namespace", "training\n"},
		{"run can be written", "mkdir /run/railhead && echo made", "made\n"},
		{"environment", "unset PWD OLDPWD SHLVL _; env | cut -d= -f1 | sort | xargs", "HOME NCCL_DEBUG PATH TERM\n"},
		{"default route", "awk '$2 == \"00000000\" {print $1, $3, $7}' /proc/net/route", "eth0 0102800A 100\n"},
		{"interfaces", "awk 'NR > 2 {print $1}' /proc/net/dev | sort | xargs", "eth0: lo:\n"},
		{
			"IPv6 address",
			"awk '$6 == \"eth0\" && /^fd/ {print $1, $2, $3}' /proc/net/if_inet6",
			"fd000000000000000000000000000015 07 40\n",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			out, _ := stageShell(t, tc.script)
			if diff := cmp.Diff(tc.want, out.stdout); diff != "" {
				t.Errorf("stdout (-want +got):\n%s\nstderr: %s", diff, out.stderr)
			}
		})
	}
}

func TestStageTellsWhatIsNotPlaced(t *testing.T) {
	out, _ := stageShell(t, "true")
	if want := "stage: not placed: /no-such-folder: "; !strings.Contains(out.stderr, want) {
		t.Errorf("stderr %q does not contain %q", out.stderr, want)
	}
	if n := strings.Count(out.stderr, "\n"); n != 1 {
		t.Errorf("%d lines on stderr, want 1:\n%s", n, out.stderr)
	}
}

func TestStageExitStatus(t *testing.T) {
	for _, tc := range []struct {
		name, script string
		want         int
	}{
		{"success", "exit 0", 0},
		{"the command's own", "exit 3", 3},
		{"ended by a signal", "kill -TERM $$", 128 + int(syscall.SIGTERM)},
		{"signal passed on", "kill -TERM $PPID; exec sleep 3600", 128 + int(syscall.SIGTERM)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if out, status := stageShell(t, tc.script); status != tc.want {
				t.Errorf("exit status %d, want %d: %s", status, tc.want, out.stderr)
			}
		})
	}
}

func TestStageWithoutCommand(t *testing.T) {
	out, status := stageRun(t, "machine.txtar", "true")
	if status != exitUsage || !strings.Contains(out.stderr, "usage: stage") {
		t.Errorf("exit status %d, stderr %q", status, out.stderr)
	}
}

func TestStageUnknownCommand(t *testing.T) {
	out, status := stageRun(t, archiveFile(t), "--", "no-such-command")
	if status != exitNotFound {
		t.Errorf("exit status %d, want %d: %s", status, exitNotFound, out.stderr)
	}
}

type output struct{ stdout, stderr string }

func stageShell(t *testing.T, script string) (output, int) {
	t.Helper()
	return stageRun(t, archiveFile(t), "--", "sh", "-c", script)
}

func archiveFile(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "machine.txtar")
	if err := os.WriteFile(name, []byte(machine), 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

func stageRun(t *testing.T, args ...string) (output, int) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var stdout, stderr strings.Builder
	cmd := exec.Command(self, args...)
	// Under the race detector a program sleeps for a second before it ends, unless told otherwise.
	cmd.Env = []string{
		"STAGE_TEST_MAIN=1", "GORACE=atexit_sleep_ms=0", "PATH=" + os.Getenv("PATH"), "HOME=/", "TERM=dumb", "OTHER=x",
	}
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		t.Fatal(err)
	}
	status := cmd.ProcessState.ExitCode()
	if status == exitNotPermitted {
		t.Skip(strings.TrimSpace(stderr.String()))
	}
	return output{stdout.String(), stderr.String()}, status
}
