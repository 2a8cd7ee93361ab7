//go:build vm

package fabrictest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/railhead/railhead/lab/fabric"
	"github.com/railhead/railhead/lab/guest"
	"github.com/railhead/railhead/lab/perf"
	"github.com/railhead/railhead/lab/vm"
)

// patience bounds whatever a test does on machines that are up: they are emulated, and share two cores with each other.
const patience = 3 * time.Minute

// program is where railhead-pod lies in a machine.
const program = "/usr/bin/railhead-pod"

// podBinary builds railhead-pod from the main module, once.
var podBinary = sync.OnceValues(func() ([]byte, error) {
	_, here, _, _ := runtime.Caller(0)
	dir, err := os.MkdirTemp("", "railhead-pod-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "railhead-pod")
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", file, "./cmd/railhead-pod")
	build.Dir = filepath.Join(filepath.Dir(here), "..", "..")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build railhead-pod: %w\n%s", err, out)
	}
	return os.ReadFile(file)
})

// machines boots machines without Kubernetes, with railhead-pod on them, until the test ends.
func machines(t *testing.T, o fabric.Options) *fabric.Fabric {
	t.Helper()
	binary, err := podBinary()
	if err != nil {
		t.Fatal(err)
	}
	o.PodsOnly, o.Dir = true, shortFolder(t)
	f, err := fabric.Up(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Down(); err != nil {
			t.Error(err)
		}
	})
	for _, v := range f.Machines {
		if err := v.Agent.PutFile(t.Context(), program, 0o755, bytes.NewReader(binary)); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

// shortFolder is a temporary folder with a name that is short enough for those of sockets in it.
func shortFolder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "lab-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the machines' consoles are in %s", dir)
			return
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// in runs commands in a machine.
func in(v *vm.VM) perf.Exec {
	return func(ctx context.Context, argv ...string) (perf.Result, error) {
		var stdout, stderr bytes.Buffer
		code, err := v.Agent.Exec(ctx, guest.Exec{Argv: argv}, &stdout, &stderr)
		return perf.Result{Stdout: stdout.String(), Stderr: stderr.String(), Code: code}, err
	}
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
