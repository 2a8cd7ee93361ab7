//go:build linux

package podcli

import (
	"bufio"
	"context"
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/exit"
	"github.com/railhead/railhead/internal/host"
	rules "github.com/railhead/railhead/internal/rules/machine"
)

const pod = "pod-roce-4vf"

func (s staged) sameProcess(t *testing.T) {
	o := run1(t, s.on(pod, nil, "sh", "-c", `echo $$; exec "$0" run -q -- sh -c 'echo $$'`, s.pod))
	before, after, _ := strings.Cut(strings.TrimSpace(o.stdout), "\n")
	if before == "" || before != after {
		t.Errorf("process %q became process %q: %s", before, after, o.stderr)
	}
}

// openFiles: what railhead-pod opened, the command does not have.
func (s staged) openFiles(t *testing.T) {
	direct := run1(t, s.on(pod, nil, "ls", "/proc/self/fd"))
	if diff := cmp.Diff(direct.stdout, s.run(t, pod, "--", "ls", "/proc/self/fd").stdout); diff != "" {
		t.Errorf("open files (-directly +by run):\n%s", diff)
	}
}

// termination sends what kubelet sends to the first process of a container.
func (s staged) termination(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	defer cancel()
	// A shell that waits in a system call may see a signal that came just before it too late.
	const script = `trap 'echo terminated; exit 42' TERM; echo ready; while :; do :; done`
	template := s.on(pod, nil, s.pod, "run", "-q", "--", "sh", "-c", script)
	cmd := exec.CommandContext(ctx, template.Path, template.Args[1:]...)
	cmd.Env = template.Env
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var said []string
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		said = append(said, lines.Text())
		if lines.Text() == "ready" {
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Error(err)
			}
		}
	}
	_ = cmd.Wait() // its code is compared
	if diff := cmp.Diff([]string{"ready", "terminated"}, said); diff != "" || cmd.ProcessState.ExitCode() != 42 {
		t.Errorf("%s, stdout (-want +got):\n%s", cmd.ProcessState, diff)
	}
}

func (s staged) exitStatus(t *testing.T) {
	for _, tc := range []struct {
		name   string
		set    []string
		args   []string
		stdout string
		code   exit.Code
		stderr string // its last line begins so
	}{
		{name: "the command's own", args: []string{"-q", "--", "sh", "-c", "exit 7"}, code: 7},
		{name: "the command's own that looks like a refusal", args: []string{"-q", "--", "sh", "-c", "exit 125"}, code: 125},
		{name: "ended by a signal", args: []string{"-q", "--", "sh", "-c", "kill -KILL $$"}, code: exit.Signalled(int(syscall.SIGKILL))},
		{name: "stdout is the command's", args: []string{"--", "printf", "data"}, stdout: "data", stderr: "The same environment for other shells: "},
		{name: "flags of the command", args: []string{"-q", "printf", "%s", "--mode"}, stdout: "--mode"},
		{name: "not found", args: []string{"-q", "--", "no-such-command"}, code: 127, stderr: "railhead-pod: start no-such-command: "},
		{name: "not found, with words before", args: []string{"--", "no-such-command"}, code: 127, stderr: "railhead-pod: start no-such-command: "},
		{name: "not executable", args: []string{"-q", "--", "/etc/passwd"}, code: 126, stderr: "railhead-pod: start /etc/passwd: "},
		{name: "a folder", args: []string{"-q", "--", "/etc"}, code: 126, stderr: "railhead-pod: start /etc: "},
		{name: "no command", args: []string{"--"}, code: 125, stderr: "Try 'railhead-pod run --help'."},
		{name: "wrong flag", args: []string{"--nodes", "2", "--", "true"}, code: 125, stderr: "Try 'railhead-pod run --help'."},
		{name: "wrong mode", args: []string{"--mode", "ib", "--", "true"}, code: 125, stderr: "Try 'railhead-pod run --help'."},
		{name: "wrong mode by variable", set: []string{"RAILHEAD_MODE=ib"}, args: []string{"--", "true"}, code: 125, stderr: "Try 'railhead-pod run --help'."},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			o := run1(t, s.on(pod, tc.set, append([]string{s.pod, "run"}, tc.args...)...))
			if o.code != tc.code || o.stdout != tc.stdout {
				t.Errorf("exit %d, stdout %q, want %d, %q; stderr %s", o.code, o.stdout, tc.code, tc.stdout, o.stderr)
			}
			lines := append([]string{""}, o.lines()...)
			if last := lines[len(lines)-1]; tc.stderr != "" && !strings.HasPrefix(last, tc.stderr) {
				t.Errorf("last line %q does not begin with %q", last, tc.stderr)
			}
			if n := strings.Count(o.stderr, "Memory lock limit: "); n > 1 {
				t.Errorf("everything is said %d times:\n%s", n, o.stderr)
			}
		})
	}
}

// refusal: mode rdma starts nothing, and says why and what to do.
func (s staged) refusal(t *testing.T) {
	for _, tc := range []struct {
		name, machine string
		set           []string
		want          []string // in this order
	}{
		{
			"no RDMA", "pod-no-rdma", nil,
			[]string{"this container was given none of the node's 8 RDMA devices [device-allocated]", "fix (user): Request the RDMA resource"},
		},
		{
			"interfaces without addresses", "pod-no-address", nil,
			[]string{"none of 4 RDMA devices is usable: mlx5_6:1: only link-local GIDs", "[gid-usable]", "fix (admin): "},
		},
		{
			"no RDMA on an InfiniBand node", "pod-infiniband-unallocated", nil,
			[]string{"this container was given none of the node's 4 RDMA devices [device-allocated]", "fix (user): Request the RDMA resource"},
		},
		{
			"devices left in another namespace", "pod-exclusive-unassigned", nil,
			[]string{"the RDMA device is not in this network namespace (mode exclusive) [rdma-namespace]", "fix (admin): "},
		},
		{
			"sockets in the environment", pod, []string{"NCCL_NET=Socket"},
			[]string{"NCCL_NET=Socket forces TCP although the pod has 4 usable rails [network-choice]", "fix (user): ", "unset NCCL_NET"},
		},
		{
			"a rail that does not work", "pod-half-broken", nil,
			[]string{
				"not every rail of the pod works", "mlx5_9:1: given to this pod but not used: port 1 DOWN (Disabled) [port-active]",
				"RAILHEAD_RAILS=any, or the flag --rails any of railhead-pod, uses those that work.",
			},
		},
		{
			"filter that leaves no rail", pod, []string{"NCCL_IB_HCA==mlx5_0", "RAILHEAD_KEEP=true"},
			[]string{"selects none of the pod's rails (" + fourRails + ")", "[hca-filter]", "fix (user): "},
		},
	} {
		for _, flag := range []string{"--quiet=false", "--quiet"} {
			t.Run(tc.name+" "+flag, func(t *testing.T) {
				t.Parallel()
				o := run1(t, s.on(tc.machine, tc.set, s.pod, "run", flag, "--", "sh", "-c", "echo started; ls /run/railhead"))
				if o.code != exit.Refused || o.stdout != "" {
					t.Errorf("exit %d, stdout %q, want %d and none", o.code, o.stdout, exit.Refused)
				}
				rest := o.stderr
				for _, want := range append([]string{"railhead-pod: not started: "}, tc.want...) {
					_, after, ok := strings.Cut(rest, want)
					if !ok {
						t.Errorf("no %q in order in:\n%s", want, o.stderr)
						break
					}
					rest = after
				}
			})
		}
	}
}

// words are the lines that scripts look for.
func (s staged) words(t *testing.T) {
	for _, tc := range []struct {
		name, machine string
		args          []string
		want          []string // from the devices on, without reasons and fixes
	}{
		{"four VFs", pod, nil, []string{
			"Auto-detected allocated SR-IOV devices: mlx5_6,mlx5_7,mlx5_10,mlx5_11", "Found 4 SR-IOV allocated device(s)",
			"  NCCL_SOCKET_IFNAME==eth0", "  GLOO_SOCKET_IFNAME=eth0", "  TP_SOCKET_IFNAME=eth0", "  NCCL_NET=IB", "  NCCL_IB_HCA==" + fourRails,
			"  NCCL_IB_GID_INDEX unset", "  UCX_NET_DEVICES=" + fourRails, "  NVSHMEM_HCA_LIST=" + fourRails, "  NVSHMEM_ENABLE_NIC_PE_MAPPING=1",
			"The same environment for other shells: . /run/railhead/env.sh",
		}},
		{"half of the VFs broken", "pod-half-broken", []string{"--rails=any"}, []string{
			"Auto-detected allocated SR-IOV devices: mlx5_8,mlx5_13,mlx5_14,mlx5_15", "Found 4 SR-IOV allocated device(s)",
			"fail: mlx5_9:1: given to this pod but not used: port 1 DOWN (Disabled) [port-active]",
			"fail: mlx5_10: given to this pod but not used: uverbs10 not permitted [uverbs-openable]",
			"fail: mlx5_11: given to this pod but not used: no port could be read [port-active]",
			"fail: mlx5_12:1: given to this pod but not used: only link-local GIDs: net5 has no IP address [gid-usable]",
		}},
		{"physical functions", "host-baremetal-8x400", nil, []string{
			"Auto-detected RDMA devices: mlx5_0,mlx5_1,mlx5_2,mlx5_3,mlx5_4,mlx5_5,mlx5_6,mlx5_7", "Found 8 RDMA device(s)",
			"  NCCL_SOCKET_IFNAME==eno1",
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			isFix := func(line string) bool { return strings.HasPrefix(line, "    ") }
			lines := slices.DeleteFunc(s.run(t, tc.machine, append(tc.args, "--", "true")...).lines(), isFix)
			if len(lines) == 0 || !memlockLine.MatchString(lines[0]) {
				t.Fatalf("the memory lock limit is not the first line: %q", lines)
			}
			for len(lines) > 0 && !strings.HasPrefix(lines[0], "Auto-detected ") {
				lines = lines[1:]
			}
			for i := range lines {
				lines[i], _, _ = strings.Cut(lines[i], "  # ")
			}
			if diff := cmp.Diff(tc.want, lines[:min(len(lines), len(tc.want))]); diff != "" {
				t.Errorf("stderr (-want +got):\n%s", diff)
			}
		})
	}
}

func (s staged) quiet(t *testing.T) {
	for _, args := range [][]string{{"-q"}, {"--quiet"}, {"--mode", "auto", "-q"}, {"--mode", "tcp", "-q"}} {
		o := s.run(t, pod, append(args, "--", "true")...)
		for _, line := range o.lines() {
			if !strings.HasPrefix(line, " ") && !strings.Contains(line, string(rules.MemlockLimit)) {
				t.Errorf("%v said %q", args, line)
			}
		}
	}
	o := run1(t, s.on(pod, []string{"RAILHEAD_QUIET=true", "NCCL_DEBUG=INFO"}, s.pod, "run", "--", "true"))
	if strings.Contains(o.stderr, "Auto-detected") {
		t.Errorf("RAILHEAD_QUIET=true said %s", o.stderr)
	}
}

// fallback: mode auto without a rail says so once, whether quiet or not.
func (s staged) fallback(t *testing.T) {
	for _, args := range [][]string{{"--mode", "auto"}, {"--mode", "auto", "-q"}} {
		o := s.run(t, "pod-no-rdma", append(args, "--", "echo", "started")...)
		if o.code != 0 || o.stdout != "started\n" {
			t.Errorf("%v: exit %d, stdout %q", args, o.code, o.stdout)
		}
		if n := strings.Count(o.stderr, "\nNO RDMA: training runs over TCP.\n"); n != 1 {
			t.Errorf("%v: the block is there %d times:\n%s", args, n, o.stderr)
		}
		if n := strings.Count(o.stderr, "[device-allocated]"); n != 1 {
			t.Errorf("%v: the reason is there %d times:\n%s", args, n, o.stderr)
		}
	}
	o := s.run(t, pod, "--mode", "auto", "--", "true")
	if strings.Contains(o.stderr, "NO RDMA") {
		t.Errorf("the block is there with rails:\n%s", o.stderr)
	}
	for set, want := range map[string]string{
		"NCCL_IB_DISABLE=1":      "NO RDMA: training runs over TCP.",
		"NCCL_NET=socket":        "NO RDMA: training runs over TCP.",
		"NCCL_IB_HCA==mlx5_0":    "RDMA AT RISK: NCCL may fall back to TCP or stop.",
		"NCCL_SOCKET_IFNAME=foo": "RDMA AT RISK: NCCL may fall back to TCP or stop.",
	} {
		o := run1(t, s.on(pod, []string{set}, s.pod, "run", "-q", "--mode", "auto", "--keep", "--", "echo", "started"))
		name, _, _ := strings.Cut(set, "=")
		if o.stdout != "started\n" || strings.Count(o.stderr, "\n"+want+"\n") != 1 || strings.Count(o.stderr, "fail: env/"+name) != 1 {
			t.Errorf("%s: stdout %q, not once %q:\n%s", set, o.stdout, want, o.stderr)
		}
	}
	plugin := run1(t, s.on("pod-no-rdma", []string{"NCCL_NET=AWS Libfabric"}, s.pod, "run", "-q", "--mode", "auto", "--", "sh", "-c", "echo $NCCL_NET"))
	if plugin.stdout != "AWS Libfabric\n" || strings.Contains(plugin.stderr, "over TCP") || !strings.Contains(plugin.stderr, "\nNO RAIL: ") {
		t.Errorf("network of a plugin: stdout %q:\n%s", plugin.stdout, plugin.stderr)
	}
}

// files: a shell that comes later gets the command's environment.
func (s staged) files(t *testing.T) {
	const script = `cd /run/railhead && ls -A && env -i "$(command -v sh)" -c '. ./env.sh; env' | grep -E '^(NCCL|GLOO|TP|UCX|NVSHMEM)_'`
	o := run1(t, s.on(pod, []string{"NCCL_IB_HCA==mlx5_6"}, s.pod, "run", "--override", "--", "sh", "-c", script))
	want := slices.Sorted(slices.Values(append([]string{"env", "env.json", "env.sh", "nccl.conf", "process"}, over(fourRails)...)))
	if diff := cmp.Diff(want, slices.Sorted(strings.FieldsSeq(o.stdout))); diff != "" {
		t.Errorf("(-want +got):\n%s\n%s", diff, o.stderr)
	}
}

// filesOnly: an init container writes what the environment lets NCCL take from a file.
func (s staged) filesOnly(t *testing.T) {
	const strangers = "mlx5_6,mlx5_7,mlx5_98,mlx5_99"
	const script = `printf 'NCCL_DEBUG=INFO\nNCCL_IB_HCA=mlx5_0\n' > /run/own.conf && mkdir /run/conf && "$0" run -q --write /run/conf
code=$?; cd /run/conf && ls -A && grep -s -v '^#' nccl.conf; exit $code`
	for set, c := range map[string]struct {
		code  exit.Code
		lines []string
	}{
		"NCCL_CONF_FILE=/run/own.conf":                 {0, []string{"env.sh", "NCCL_DEBUG=INFO", "NCCL_IB_HCA==mlx5_6:1,mlx5_7:1,mlx5_10:1,mlx5_11:1"}},
		"NCCL_IB_HCA==mlx5_6:1":                        {0, []string{"NCCL_IB_HCA==mlx5_6:1"}},
		"NCCL_IB_HCA==mlx5_0":                          {exit.Refused, nil}, // no file replaces it
		"NCCL_IB_HCA=" + strangers:                     {exit.Refused, nil},
		"NCCL_SOCKET_IFNAME=net1,net2":                 {exit.Refused, nil},
		"NCCL_IB_GID_INDEX=40":                         {exit.Refused, nil},
		"NCCL_NET=Socket":                              {exit.Refused, nil},
		"RAILHEAD_MODE=auto":                           {0, []string{"NCCL_IB_HCA==mlx5_6:1,mlx5_7:1,mlx5_10:1,mlx5_11:1"}},
		"UCX_NET_DEVICES=eth0":                         {0, []string{"NCCL_IB_HCA==mlx5_6:1,mlx5_7:1,mlx5_10:1,mlx5_11:1"}},
		"NCCL_SOCKET_IFNAME==eth0":                     {0, []string{"NCCL_SOCKET_IFNAME==eth0"}},
		"NCCL_NET_GDR_LEVEL=5 RAILHEAD_GDR_LEVEL=SYS":  {0, []string{"NCCL_NET_GDR_LEVEL=SYS"}},
		"NCCL_NET_GDR_LEVEL=2 RAILHEAD_GDR_LEVEL=SYS":  {exit.Refused, nil},
		"RAILHEAD_KEEP=true NCCL_IB_HCA=" + strangers:  {0, []string{"NCCL_IB_HCA=" + strangers}},
		"RAILHEAD_MODE=auto NCCL_IB_HCA=" + strangers:  {0, []string{"NCCL_IB_HCA=" + strangers}},
		"RAILHEAD_OVERRIDE=true NCCL_IB_HCA==mlx5_6:1": {exit.Refused, nil},
	} {
		o := run1(t, s.on(pod, strings.Fields(set), "sh", "-c", script, s.pod))
		got := strings.Fields(o.stdout)
		missing := slices.DeleteFunc(slices.Clone(c.lines), func(line string) bool { return slices.Contains(got, line) })
		if o.code != c.code || len(missing) > 0 || slices.Contains(got, "process") || c.code != 0 && len(got) > 0 {
			t.Errorf("%s: exit %d, without %v\n%s\n%s", set, o.code, missing, o.stdout, o.stderr)
		}
	}
	o := run1(t, s.on(pod, []string{"NCCL_IB_HCA=" + strangers}, s.pod, "run", "--write", "/run/conf"))
	for _, want := range []string{
		"railhead-pod: not started: RDMA is required (--mode rdma) but NCCL would not read its settings from the files\n",
		"fail: env/NCCL_IB_HCA: NCCL_IB_HCA=" + strangers + " is set, and a file does not replace it: this pod needs " +
			"NCCL_IB_HCA==" + fourRails + " [user-setting]",
		"fix (user): Remove it from env and envFrom of the container, and from its image.",
		"RAILHEAD_KEEP=true keeps the values that are set.",
	} {
		if !strings.Contains(o.stderr, want) {
			t.Errorf("without %q:\n%s", want, o.stderr)
		}
	}
	if o := s.run(t, "pod-no-rdma", "--write", "/run"); o.code != exit.Refused {
		t.Errorf("without a rail: exit %d\n%s", o.code, o.stderr)
	}
}

// launched: what was set counts as the command's environment while the command runs, and no longer.
func (s staged) launched(t *testing.T) {
	const script = `"$0" run -q -- sh -c '"$0" snapshot' "$0"; "$0" snapshot`
	o := run1(t, s.on(pod, nil, "sh", "-c", script, s.pod))
	var set []bool
	for d := json.NewDecoder(strings.NewReader(o.stdout)); d.More(); {
		var snapshot host.Snapshot
		if err := d.Decode(&snapshot); err != nil {
			t.Fatalf("%v\n%s", err, o.stderr)
		}
		set = append(set, snapshot.Launched["NCCL_NET"] == "IB")
	}
	if diff := cmp.Diff([]bool{true, false}, set); diff != "" {
		t.Errorf("(-want +got):\n%s\n%s", diff, o.stderr)
	}
}

// nowhereToWrite: a container without a writable /run is started all the same, and promised nothing.
func (s staged) nowhereToWrite(t *testing.T) {
	o := run1(t, s.on(pod, nil, "sh", "-c", `touch /run/railhead && exec "$0" run -- echo started`, s.pod))
	if o.code != 0 || o.stdout != "started\n" || strings.Contains(o.stderr, "other shells") {
		t.Errorf("exit %d, stdout %q, stderr:\n%s", o.code, o.stdout, o.stderr)
	}
}
