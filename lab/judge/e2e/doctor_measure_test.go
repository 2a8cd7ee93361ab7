package e2e_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/railhead/railhead/lab/controlplane/kubelet"
)

// TestDoctorMeasures: with --measure doctor finds what only a measurement shows, and leaves what trains alone.
func TestDoctorMeasures(t *testing.T) {
	const ns = "gauged"
	setUp(t)
	u := engineer(t, "d-cameron", ns)
	u.does(t, deploy("job", ns)...)
	k, fabric := measuring(t)
	machine := recorded(t, "host-baremetal-8x400")
	k.Log = func(kubelet.Container) string { return machine } // of pods that look at nodes
	serves(t, k, "gpu-0", "gpu-1")
	doctor := func(more ...string) []string {
		return append([]string{"doctor", "job", "-n", ns, "--measure"}, more...)
	}
	t.Run("all is well", func(t *testing.T) {
		r := u.does(t, doctor()...)
		r.prints(t, "Job job in namespace gauged: 2 pods examined", "measured: 4 links between 2 pods, in ", "Nothing is wrong")
	})
	t.Run("with the nodes, and what their ports count meanwhile", func(t *testing.T) { measuresWatched(t, ns) })
	if err := os.WriteFile(filepath.Join(fabric, "rate.mlx5_11"), []byte("19.60"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Run("a slow rail", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "job.tgz")
		live := u.ends(t, 1, doctor("--save", file, "-o", "json")...)
		d := diagnosis(t, live)
		if got := found(d); !slices.Equal(got, []string{"fail bench-fabric"}) || !strings.Contains(d.Problems[0].Subject.String(), "job-0") || d.Measured.Links != 4 {
			t.Errorf("found %q: %+v", got, d)
		}
		if offline := (user{}).ends(t, 1, "doctor", "--from", file, "-o", "json"); live.out != offline.out {
			t.Errorf("the verdicts differ:\n%s\n--- from the archive:\n%s", live.out, offline.out)
		}
		u.does(t, "report", file, "-o", filepath.Join(t.TempDir(), "report.html"))
	})
	t.Run("it was not asked for", func(t *testing.T) {
		if d := diagnosis(t, u.does(t, "doctor", "job", "-n", ns, "-o", "json")); d.Measured != nil {
			t.Errorf("it was measured: %+v", d.Measured)
		}
	})
	t.Run("Ctrl-C", func(t *testing.T) {
		u := u
		u.heard = func(line string, interrupt context.CancelFunc) {
			if strings.Contains(line, "search, round 1") {
				interrupt()
			}
		}
		u.ends(t, 130, doctor()...).silent(t).says(t, "Interrupted: stopping all processes in the pods")
	})
	t.Run("a job that trains", func(t *testing.T) {
		u.does(t, "delete", "job", "-n", ns, "--yes")
		u.does(t, append(deploy("trains", ns), "--", "torchrun", "train.py")...)
		d := diagnosis(t, u.ends(t, 3, "doctor", "trains", "-n", ns, "--measure", "-o", "json"))
		if got := found(d); !slices.Equal(got, []string{"unknown bench-measured"}) || !strings.Contains(d.Problems[0].Summary, "its job has a command of its own") {
			t.Errorf("found %q: %+v", got, d.Problems)
		}
		u.does(t, "delete", "trains", "-n", ns, "--yes")
	})
}

// measuresWatched wants doctor to measure while pods watch the nodes: here they watch until it does.
func measuresWatched(t *testing.T, ns string) {
	t.Helper()
	a := admin(t, openShift)
	var measures sync.Once
	a.heard = func(line string, _ context.CancelFunc) {
		if strings.Contains(line, "search, round 1") {
			measures.Do(func() { probesEnd(t) })
		}
	}
	r := a.railhead(t, "doctor", "job", "-n", ns, "--measure", "--nodes", "--watch=1s", "--timeout=5m", "--probe-image=example.invalid/shell", "--pod-binary=amd64="+podBinary, "-o", "json")
	r.says(t, "Examining 2 nodes while measuring")
	if d := diagnosis(t, r); d.Nodes != 2 || d.Measured == nil || d.Measured.Links != 4 {
		t.Errorf("%d nodes, measured %+v\n%s", d.Nodes, d.Measured, r.err)
	}
}
