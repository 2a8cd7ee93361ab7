//go:build linux

package podcli

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/nccl"
	"github.com/railhead/railhead/internal/rail"
	rules "github.com/railhead/railhead/internal/rules/machine"
)

// without starts a command with a limit of locked memory, and without the capabilities that lift it.
func without(limit string, more ...string) []string {
	return slices.Concat([]string{"prlimit", "--memlock=" + limit + ":" + limit, "setpriv"}, more)
}

// doctor finds faults that are real for it: limits, users, nodes, mounts, interfaces.
func (s staged) doctor(t *testing.T) {
	for name, tc := range map[string]struct {
		machine string
		edit    *regexp.Regexp // of the recording
		into    string
		under   []string // what starts it
		want    []check.ID
	}{
		"nothing": {machine: pod},
		"memlock too low": {
			machine: pod, want: []check.ID{rules.MemlockLimit},
			under: without("65536", "--bounding-set", "-ipc_lock,-sys_resource", "--inh-caps", "-ipc_lock,-sys_resource"),
		},
		"IPC_LOCK inert for uid 1000": {
			machine: pod, want: []check.ID{rules.IPCLockEffective},
			under: without("8388608", "--reuid", "1000", "--regid", "1000", "--clear-groups", "--bounding-set", "-sys_resource"),
		},
		"IPC_LOCK of root": {machine: pod, under: without("65536", "--bounding-set", "-sys_resource", "--inh-caps", "-sys_resource")},
		"verbs nodes missing": {
			machine: pod, want: []check.ID{rail.UverbsOpenable}, edit: regexp.MustCompile(`-- dev/infiniband/\S+ --\n`),
		},
		"small /dev/shm": {
			machine: pod, want: []check.ID{nccl.SharedMemory}, edit: regexp.MustCompile(`"shmBytes": \d+`), into: `"shmBytes": 67108864`,
		},
		"no address": {machine: "pod-no-address", want: []check.ID{rail.GIDUsable}},
		"wrong MTU": {
			machine: pod, want: []check.ID{rules.RailMTU}, edit: regexp.MustCompile(`(net/net1/mtu --\n)9000`), into: "${1}1500",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := recording(tc.machine)
			if tc.edit != nil {
				text, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				if !tc.edit.Match(text) {
					t.Fatalf("nothing in %s is %s", file, tc.edit)
				}
				file = filepath.Join(t.TempDir(), "machine.txtar")
				if err := os.WriteFile(file, tc.edit.ReplaceAll(text, []byte(tc.into)), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			for _, program := range []string{"prlimit", "setpriv"} {
				if _, err := exec.LookPath(program); err != nil && tc.under != nil {
					t.Skip(err)
				}
			}
			if os.Geteuid() != 0 && tc.under != nil {
				t.Skip("only root can become another user and give up capabilities")
			}
			argv := slices.Concat([]string{file, "--"}, tc.under, []string{s.pod, "doctor", "-o", "json"})
			o := run1(t, exec.Command(s.stage, argv...))
			if o.code == notPermitted {
				t.Skip(o.stderr)
			}
			var d diagnosis
			if err := json.Unmarshal([]byte(o.stdout), &d); err != nil {
				t.Fatalf("exit %d: %v\n%s", o.code, err, o.stderr)
			}
			var said []check.ID
			for _, f := range d.AtLeast(check.Unknown) {
				said = append(said, f.Check)
			}
			if diff := cmp.Diff(tc.want, said); diff != "" {
				t.Errorf("(-want +said):\n%s\n%s", diff, o.stdout)
			}
		})
	}
}
