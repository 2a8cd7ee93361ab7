//go:build chaos

package chaostest

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"
)

// commandLimit bounds a command, on a machine that has other things to do.
const commandLimit = 15 * time.Minute

// run is one run of railhead.
type run struct {
	code  int
	out   string // stdout and stderr
	trace []string
	hit   map[string]way
	ended time.Duration // after the interrupt
}

// railhead runs a command line while the proxy disturbs requests.
func (s *site) railhead(t *testing.T, disturbs map[string]way, args ...string) run {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), commandLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, programs.railhead, append([]string{"--kubeconfig=" + s.kubeconfig}, args...)...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	var interrupted time.Time
	var mu sync.Mutex
	s.proxy.begin(func() {
		mu.Lock()
		defer mu.Unlock()
		if interrupted.IsZero() {
			interrupted = time.Now()
			_ = cmd.Process.Signal(os.Interrupt) // a process that has ended has the exit code of its own
		}
	}, disturbs)
	err := cmd.Run()
	ended := time.Now()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || ctx.Err() != nil {
		t.Fatalf("railhead %q: %v, %v\n%s", args, err, ctx.Err(), out.String())
	}
	r := run{code: cmd.ProcessState.ExitCode(), out: out.String()}
	if r.trace, r.hit, err = s.proxy.end(); err != nil {
		t.Fatalf("restart the API server: %v", err)
	}
	mu.Lock()
	defer mu.Unlock()
	if !interrupted.IsZero() {
		r.ended = ended.Sub(interrupted)
	}
	return r
}

// does runs a command line that must succeed.
func (s *site) does(t *testing.T, args ...string) run {
	t.Helper()
	r := s.railhead(t, nil, args...)
	if r.code != 0 {
		t.Fatalf("railhead %q: exit code %d\n%s", args, r.code, r.out)
	}
	return r
}
