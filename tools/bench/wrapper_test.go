//go:build linux

package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestWrapper asserts that the script does the job that it is timed for.
func TestWrapper(t *testing.T) {
	if testing.Short() {
		t.Skip("builds tools/stage")
	}
	m := spec{hcas: 32, owned: 4, gids: 16, privileged: true}
	got := staged(t, m, "bash", script(t), "/bin/sh", "-c",
		`printf '%s\n' "$NCCL_IB_HCA" "$NCCL_IB_GID_INDEX" "$NCCL_SOCKET_IFNAME" "$UCX_NET_DEVICES"`)
	const hcas = "mlx5_0:1,mlx5_8:1,mlx5_16:1,mlx5_24:1"
	want := []string{
		"Auto-detected allocated SR-IOV devices: mlx5_0 mlx5_8 mlx5_16 mlx5_24",
		"Found 4 SR-IOV allocated device(s)",
		"=" + hcas, "3", "=eth0", hcas,
	}
	if diff := cmp.Diff(want, got[1:]); diff != "" { // the first line is this machine's memory lock limit
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestMeasureRefusesAWrongAnswer(t *testing.T) {
	j := job{
		Commands: []command{{Name: "wrong", Argv: []string{"env", "NCCL_IB_HCA=mlx5_1"}, Every: 1}},
		Want:     []string{"mlx5_0"},
	}
	if _, err := j.run(); err == nil || !strings.Contains(err.Error(), `chose NCCL_IB_HCA="mlx5_1"`) {
		t.Errorf("error %v", err)
	}
}

func TestMeasureTakesTurns(t *testing.T) {
	always := command{Name: "always", Argv: []string{"env", "NCCL_IB_HCA=mlx5_0"}, Every: 1}
	seldom := command{Name: "seldom", Argv: always.Argv, Every: 3}
	results, err := job{Commands: []command{always, seldom}, Rounds: 7, WarmUps: 1, Want: []string{"mlx5_0"}}.run()
	if err != nil {
		t.Fatal(err)
	}
	if a, s := len(results[0].Times), len(results[1].Times); a != 7 || s != 3 {
		t.Errorf("%d and %d runs, want 7 and 3", a, s)
	}
}

func script(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "wrapper.sh")
	if err := os.WriteFile(name, wrapper, 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

// staged runs a command on the machine and returns its lines.
func staged(t *testing.T, m spec, command ...string) []string {
	t.Helper()
	dir := t.TempDir()
	stage, err := build(dir, "tools/stage")
	if err != nil {
		t.Fatal(err)
	}
	text, err := m.archive()
	if err != nil {
		t.Fatal(err)
	}
	place := filepath.Join(dir, "machine.txtar")
	if err := os.WriteFile(place, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(stage, append([]string{place, "--"}, command...)...).Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if exit.ExitCode() == exitNotPermitted {
			t.Skip(strings.TrimSpace(string(exit.Stderr)))
		}
		t.Fatalf("%v: %s", err, exit.Stderr)
	}
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}
