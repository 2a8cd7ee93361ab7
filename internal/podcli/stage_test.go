//go:build linux

package podcli

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/exit"
	"github.com/railhead/railhead/internal/host/sysfs"
	"github.com/railhead/railhead/internal/nccl"
	"github.com/railhead/railhead/internal/podrun"
	"github.com/railhead/railhead/internal/rail"
)

// TestStage runs the program as pods run it: on recorded machines that tools/stage made real.
func TestStage(t *testing.T) {
	s := build(t)
	t.Run("environment", s.environment)
	t.Run("every machine", s.everyMachine)
	t.Run("same process", s.sameProcess)
	t.Run("open files", s.openFiles)
	t.Run("termination", s.termination)
	t.Run("exit status", s.exitStatus)
	t.Run("refusal", s.refusal)
	t.Run("words", s.words)
	t.Run("memory lock", s.memoryLock)
	t.Run("memory lock of a user namespace", s.memoryLockOfUserNamespace)
	t.Run("quiet", s.quiet)
	t.Run("fallback", s.fallback)
	t.Run("files", s.files)
	t.Run("files only", s.filesOnly)
	t.Run("launched", s.launched)
	t.Run("nowhere to write", s.nowhereToWrite)
	t.Run("preflight", s.preflight)
	t.Run("preflight leaves nothing", s.preflightLeavesNothing)
	t.Run("preflight to the next rank", s.preflightToNextRank)
	t.Run("preflight without perftest", s.preflightWithoutPerftest)
	t.Run("preflight termination", s.preflightTermination)
	t.Run("doctor", s.doctor)
}

// staged are the programs as files.
type staged struct{ stage, pod string }

// hang is a limit that only a command reaches that hangs.
const hang = 10 * time.Minute

// notPermitted is the exit status of tools/stage where namespaces or mounts are not permitted.
const notPermitted = 77

// build builds them, and skips where stages are not permitted.
func build(t *testing.T) staged {
	t.Helper()
	dir := t.TempDir()
	s := staged{filepath.Join(dir, "stage"), filepath.Join(dir, "railhead-pod")}
	for out, pkg := range map[string]string{s.stage: "./tools/stage", s.pod: "./cmd/railhead-pod"} {
		cmd := exec.Command("go", "build", "-buildvcs=false", "-o", out, pkg)
		cmd.Dir, cmd.Env = "../..", append(os.Environ(), "CGO_ENABLED=0")
		if text, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", cmd.Args, err, text)
		}
	}
	if o := run1(t, exec.Command(s.stage, recording("pod-no-rdma"), "--", "true")); o.code == notPermitted {
		t.Skip(strings.TrimSpace(o.stderr))
	} else if o.code != 0 {
		t.Fatalf("stage: exit %d: %s", o.code, o.stderr)
	}
	return s
}

func recording(machine string) string { return filepath.Join("../../testdata/hosts", machine+".txtar") }

// outcome is the output and exit code of a command, as a user sees them.
type outcome struct {
	stdout, stderr string // stderr without the stage's own lines
	notPlaced      string // those
	code           exit.Code
}

func (o outcome) lines() []string {
	return strings.FieldsFunc(o.stderr, func(c rune) bool { return c == '\n' })
}

// on is a command on a machine, which sees the recorded environment on top of PATH, HOME and what is set.
func (s staged) on(machine string, set []string, command ...string) *exec.Cmd {
	cmd := exec.Command(s.stage, append([]string{"--keep-env", recording(machine), "--"}, command...)...)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=/"}, set...)
	return cmd
}

// run is `railhead-pod run` with arguments on a machine.
func (s staged) run(t *testing.T, machine string, args ...string) outcome {
	t.Helper()
	return run1(t, s.on(machine, nil, append([]string{s.pod, "run"}, args...)...))
}

func run1(t *testing.T, cmd *exec.Cmd) outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	defer cancel()
	bounded := exec.CommandContext(ctx, cmd.Path, cmd.Args[1:]...)
	bounded.Env, bounded.SysProcAttr = cmd.Env, cmd.SysProcAttr
	var out, talk bytes.Buffer
	bounded.Stdout, bounded.Stderr = &out, &talk
	if err := bounded.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		t.Fatal(err)
	}
	o := outcome{stdout: out.String(), code: exit.Code(bounded.ProcessState.ExitCode())}
	for line := range strings.Lines(talk.String()) {
		if strings.HasPrefix(line, "stage: not placed: ") {
			o.notPlaced += line
		} else {
			o.stderr += line
		}
	}
	return o
}

// environ returns the environment of a command on the machine without railhead-pod.
func environ(t *testing.T, machine string, set []string) []string {
	t.Helper()
	m, err := sysfs.Open(recording(machine))
	if err != nil {
		t.Fatal(err)
	}
	env := append([]string{"PATH=" + os.Getenv("PATH"), "HOME=/"}, set...)
	if m.Probes.Environ != nil {
		env = append(env, m.Probes.Environ()...)
	}
	return env
}

func asMap(env []string) map[string]string {
	m := map[string]string{}
	for _, entry := range env {
		if name, value, ok := strings.Cut(entry, "="); ok {
			m[name] = value
		}
	}
	return m
}

// The bootstrap interface, and the variables of mode TCP.
var (
	bootstrap = []string{"NCCL_SOCKET_IFNAME==eth0", "GLOO_SOCKET_IFNAME=eth0", "TP_SOCKET_IFNAME=eth0"}
	sockets   = append(slices.Clip(bootstrap), "NCCL_NET=Socket", "NCCL_IB_DISABLE=1", "NCCL_IBEXT_DISABLE=1", "UCX_NET_DEVICES=eth0")
)

// over are the variables of mode RDMA over the rails of an ordinary pod.
func over(rails string, more ...string) []string {
	env := append(slices.Clip(bootstrap), "NCCL_NET=IB", "NCCL_IB_HCA=="+rails,
		"UCX_NET_DEVICES="+rails, "NVSHMEM_HCA_LIST="+rails, "NVSHMEM_ENABLE_NIC_PE_MAPPING=1")
	return append(env, more...)
}

const fourRails = "mlx5_6:1,mlx5_7:1,mlx5_10:1,mlx5_11:1"

// environment compares all that the command has with what it would have had.
func (s staged) environment(t *testing.T) {
	for _, tc := range []struct {
		name, machine string
		set, args     []string
		want, gone    []string // variables that the command has besides, and has not
	}{
		{name: "four VFs", machine: "pod-roce-4vf", want: over(fourRails)},
		{name: "other names on another node", machine: "pod-roce-4vf-node-b", want: over("mlx5_6:1,mlx5_7:1,mlx5_8:1,mlx5_9:1")},
		{name: "InfiniBand", machine: "pod-infiniband-4vf", want: over(fourRails)},
		{name: "half of the VFs broken", machine: "pod-half-broken", args: []string{"--rails=any"}, want: over("mlx5_8:1,mlx5_13:1,mlx5_14:1,mlx5_15:1")},
		{
			name: "macvlan with GIDs of other pods before its own", machine: "pod-macvlan-shifted",
			want: over("mlx5_0:1,mlx5_1:1", "NCCL_IB_ADDR_RANGE=10.30.8.0/23"),
		},
		{name: "TCP on purpose", machine: "pod-roce-4vf", args: []string{"--mode", "tcp"}, want: sockets},
		{name: "TCP without RDMA", machine: "pod-no-rdma", args: []string{"--mode", "tcp"}, want: sockets},
		{name: "no RDMA and mode auto", machine: "pod-no-rdma", args: []string{"--mode=auto"}, want: sockets},
		{
			name: "rails and mode auto", machine: "pod-roce-4vf", args: []string{"--mode=auto"}, set: []string{"NCCL_DEBUG=INFO"},
			want: slices.DeleteFunc(over(fourRails, "NCCL_DEBUG=INFO"), func(v string) bool { return v == "NCCL_NET=IB" }),
		},
		{
			name: "user's filter kept", machine: "pod-roce-4vf", set: []string{"NCCL_IB_HCA==mlx5_6:1"},
			want: slices.Replace(over(fourRails), 4, 5, "NCCL_IB_HCA==mlx5_6:1"),
		},
		{name: "filter of another node replaced", machine: "pod-roce-4vf", set: []string{"NCCL_IB_HCA=mlx5_6,mlx5_99", "NCCL_SOCKET_IFNAME=net1"}, want: over(fourRails)},
		{name: "user's filter replaced", machine: "pod-roce-4vf", set: []string{"NCCL_IB_HCA==mlx5_6:1"}, args: []string{"--override"}, want: over(fourRails)},
		{
			name: "image's settings replaced", machine: "pod-privileged", args: []string{"--override"},
			want: over("mlx5_2:1,mlx5_7:1"), gone: []string{"NCCL_IB_GID_INDEX", "NCCL_NET_GDR_LEVEL"},
		},
		{name: "mode by variable", machine: "pod-roce-4vf", set: []string{"RAILHEAD_MODE=tcp"}, want: append(slices.Clip(sockets), "RAILHEAD_MODE=tcp")},
		{name: "flag before variable", machine: "pod-roce-4vf", set: []string{"RAILHEAD_MODE=tcp"}, args: []string{"--mode", "rdma"}, want: over(fourRails, "RAILHEAD_MODE=tcp")},
		{
			name: "other flags by variable", machine: "pod-roce-4vf", set: []string{"RAILHEAD_GDR_LEVEL=PHB", "RAILHEAD_OVERRIDE=true", "NCCL_NET=Socket"},
			want: over(fourRails, "NCCL_NET_GDR_LEVEL=PHB", "RAILHEAD_GDR_LEVEL=PHB", "RAILHEAD_OVERRIDE=true"),
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			command := slices.Concat([]string{s.pod, "run"}, tc.args, []string{"--", "env", "-0"})
			o := run1(t, s.on(tc.machine, tc.set, command...))
			if o.code != 0 {
				t.Fatalf("exit %d: %s", o.code, o.stderr)
			}
			want := asMap(environ(t, tc.machine, tc.set))
			for _, name := range tc.gone {
				delete(want, name)
			}
			maps.Copy(want, asMap(tc.want))
			if diff := cmp.Diff(want, asMap(strings.Split(o.stdout, "\x00"))); diff != "" {
				t.Errorf("environment (-want +got):\n%s", diff)
			}
		})
	}
}

// everyMachine: a machine made real has the findings of its recording.
func (s staged) everyMachine(t *testing.T) {
	for _, file := range hosts(t) {
		machine := strings.TrimSuffix(filepath.Base(file), ".txtar")
		t.Run(machine, func(t *testing.T) {
			t.Parallel()
			m, err := sysfs.Open(file)
			if err != nil {
				t.Fatal(err)
			}
			d := decide(m.Snapshot(), rail.Pod, nccl.Policy{Mode: nccl.Auto, Override: true})
			o := s.run(t, machine, "--mode", "auto", "--override", "--", "env", "-0")
			if o.notPlaced != "" {
				t.Skip(o.notPlaced)
			}
			want := asMap(podrun.Environment(environ(t, machine, nil), d.vars))
			if diff := cmp.Diff(want, asMap(strings.Split(o.stdout, "\x00"))); diff != "" || o.code != 0 {
				t.Errorf("exit %d, environment (-recorded +real):\n%s\n%s", o.code, diff, o.stderr)
			}
		})
	}
}
