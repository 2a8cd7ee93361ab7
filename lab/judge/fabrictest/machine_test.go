//go:build vm

package fabrictest

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/railhead/railhead/lab/controlplane/process"
	"github.com/railhead/railhead/lab/judge/perf"
	"github.com/railhead/railhead/lab/machines/debian"
	"github.com/railhead/railhead/lab/machines/fabric"
	"github.com/railhead/railhead/lab/machines/guest"
)

// patience bounds whatever a test does on machines that are up: they are emulated, and share two cores with each other.
const patience = 10 * time.Minute

// program is railhead-pod in a machine.
const program = guest.ProgramFolder + "/railhead-pod"

// machines boots machines without Kubernetes until the test ends.
func machines(t *testing.T, o fabric.Options) *fabric.Fabric {
	t.Helper()
	o.PodsOnly, o.Dir = true, shortFolder(t)
	begun := time.Now()
	f, err := fabric.Up(t.Context(), o)
	reachable(t, err)
	started(t, f, begun)
	t.Cleanup(func() {
		if err := f.Down(); err != nil {
			t.Error(err)
		}
	})
	return f
}

// shortFolder is a temporary folder with a name that is short enough for those of sockets in it. That of a test that
// was killed is removed by the next one.
func shortFolder(t *testing.T) string {
	t.Helper()
	dir, lock, err := process.Folder("lab-*")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		defer lock.Close()
		if t.Failed() {
			t.Logf("the machines' consoles are in %s", dir)
			if err := os.Remove(lock.Name()); err != nil {
				t.Error(err)
			}
			return
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// output runs a command that ends well and returns what it prints.
func output(t *testing.T, run perf.Exec, argv ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	r, err := run(ctx, argv...)
	if err != nil {
		t.Fatal(err)
	}
	if r.Code != 0 {
		t.Fatalf("%s ended with %d\n%s%s", strings.Join(argv, " "), r.Code, r.Stdout, r.Stderr)
	}
	return r.Stdout
}

// reachable ends a test whose lab could not be started. It is skipped where this host cannot have what machines are
// made of.
func reachable(t *testing.T, err error) {
	t.Helper()
	switch {
	case errors.Is(err, debian.ErrOutOfReach):
		t.Skip(err)
	case err != nil:
		t.Fatal(err)
	}
}
