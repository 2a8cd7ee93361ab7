package guest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/lab/machines/guest"
	"github.com/railhead/railhead/lab/machines/guest/agent"
)

// machine stands in for the machine of a test's agent.
type machine struct {
	mu     sync.Mutex
	states []guest.Status // one for each question
	seen   []int          // stages that the questions named
	orders []guest.ServiceOrder
	off    chan struct{}
}

func (m *machine) Status(_ context.Context, seen int) guest.Status {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.seen = append(m.seen, seen)
	s := m.states[0]
	if len(m.states) > 1 {
		m.states = m.states[1:]
	}
	return s
}

func (m *machine) Order(o guest.ServiceOrder) error {
	m.orders = append(m.orders, o)
	if o.Service != guest.Kubelet {
		return fmt.Errorf("service %q: %w", o.Service, fs.ErrNotExist)
	}
	return nil
}

func (m *machine) PowerOff() { close(m.off) }

// serve serves the agent and returns a client of it, and the root of its files.
func serve(t *testing.T, m *machine) (c *guest.Client, root string) {
	t.Helper()
	root = t.TempDir()
	a := agent.Agent{Machine: m, Token: "secret", Root: root, Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=/root"}}
	server := httptest.NewServer(a.Handler())
	t.Cleanup(server.Close)
	return guest.NewClient(strings.TrimPrefix(server.URL, "http://"), "secret"), root
}

func TestExec(t *testing.T) {
	tests := []struct {
		name           string
		exec           guest.Exec
		code           int
		stdout, stderr string
		err            bool
	}{
		{name: "success", exec: guest.Exec{Argv: []string{"echo", "hello"}}, stdout: "hello\n"},
		{
			name:   "exit code and error output",
			exec:   guest.Exec{Argv: []string{"sh", "-c", "echo out; echo err >&2; exit 3"}},
			code:   3,
			stdout: "out\n",
			stderr: "err\n",
		},
		{name: "signal", exec: guest.Exec{Argv: []string{"sh", "-c", "kill -9 $$"}}, code: 137},
		{name: "input", exec: guest.Exec{Argv: []string{"cat"}, Input: []byte("text")}, stdout: "text"},
		{
			name:   "environment",
			exec:   guest.Exec{Argv: []string{"sh", "-c", "echo $HOME $X"}, Env: []string{"X=y"}},
			stdout: "/root y\n",
		},
		{name: "no such program", exec: guest.Exec{Argv: []string{"/no/such/program"}}, code: 127, err: true},
		{name: "no command", err: true},
	}
	c, _ := serve(t, &machine{})
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			code, err := c.Exec(t.Context(), tt.exec, &stdout, &stderr)
			if code != tt.code || (err != nil) != tt.err {
				t.Errorf("exit code %d, want %d; error %v", code, tt.code, err)
			}
			if diff := cmp.Diff([]string{tt.stdout, tt.stderr}, []string{
				stdout.String(),
				stderr.String(),
			}); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestExecLeavesBehind ends a command whose child stays and has the output open.
func TestExecLeavesBehind(t *testing.T) {
	c, _ := serve(t, &machine{})
	var stdout bytes.Buffer
	code, err := c.Exec(t.Context(), guest.Exec{
		Argv: []string{"sh", "-c", "sleep 1000 & echo $!"},
	}, &stdout, io.Discard)
	if code != 0 || err != nil {
		t.Errorf("exit code %d, %v", code, err)
	}
	var pid int
	if _, err := fmt.Sscan(stdout.String(), &pid); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Errorf("kill what was left behind: %v", err)
	}
}

// lines hands each write to a channel.
type lines chan string

func (l lines) Write(p []byte) (int, error) {
	l <- string(p)
	return len(p), nil
}

// TestExecGivenUp goes away while a command and its child run: both end.
func TestExecGivenUp(t *testing.T) {
	c, root := serve(t, &machine{})
	fifo := filepath.Join(root, "held")
	out := make(lines, 8)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	script := "mkfifo " + fifo + "; (exec 9<>" + fifo + "; echo ready; sleep 1000) & wait"
	go func() {
		_, err := c.Exec(ctx, guest.Exec{Argv: []string{"sh", "-c", script}}, out, out)
		done <- err
	}()
	if got := <-out; got != "ready\n" { // it comes while the command runs
		t.Fatalf("output %q", got)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	// Opening a fifo without a reader fails (fifo(7), ENXIO): then the child is gone.
	for deadline := time.Now().Add(hang); ; {
		f, err := os.OpenFile(fifo, os.O_WRONLY|syscall.O_NONBLOCK, 0)
		if err != nil {
			return
		}
		f.Close()
		if time.Now().After(deadline) {
			t.Fatal("the command's child still runs")
		}
	}
}

// hang is a time that only something takes that hangs.
const hang = 5 * time.Minute

func TestFiles(t *testing.T) {
	c, root := serve(t, &machine{})
	if err := c.PutFile(t.Context(), "/run/a b/x", 0o750, strings.NewReader("content")); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(root, "run/a b/x"))
	if err != nil || info.Mode() != 0o750 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	var b bytes.Buffer
	if err := c.GetFile(t.Context(), "/run/a b/x", &b); err != nil || b.String() != "content" {
		t.Errorf("content %q, %v", &b, err)
	}
	if err := c.GetFile(t.Context(), "/run/none", &b); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	if err := c.GetFile(t.Context(), "/run", &b); err == nil {
		t.Error("a folder was read")
	}
	left, err := os.ReadDir(filepath.Join(root, "run/a b"))
	if err != nil || len(left) != 1 {
		t.Errorf("in the folder: %v, %v", left, err)
	}
}

func TestServiceAndPower(t *testing.T) {
	m := &machine{off: make(chan struct{})}
	c, _ := serve(t, m)
	if err := c.Service(t.Context(), guest.ServiceOrder{Service: guest.Kubelet, Running: true}); err != nil {
		t.Error(err)
	}
	if err := c.Service(t.Context(), guest.ServiceOrder{Service: "none"}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a service that is not there: %v", err)
	}
	want := []guest.ServiceOrder{{Service: guest.Kubelet, Running: true}, {Service: "none"}}
	if diff := cmp.Diff(want, m.orders); diff != "" {
		t.Error(diff)
	}
	if err := c.PowerOff(t.Context()); err != nil {
		t.Fatal(err)
	}
	select {
	case <-m.off:
	case <-time.After(hang):
		t.Error("the power is still on")
	}
}

func TestWaitReady(t *testing.T) {
	one := guest.Stage{Name: "one", At: time.Second}
	two := guest.Stage{Name: "two", At: 2 * time.Second}
	begun := guest.Status{Stages: []guest.Stage{one}}
	tests := []struct {
		name   string
		states []guest.Status
		failed bool
		told   []guest.Stage
		seen   []int
	}{
		{"at once", []guest.Status{{Ready: true, Stages: []guest.Stage{one}}}, false, []guest.Stage{one}, []int{0}},
		{
			"stage by stage",
			[]guest.Status{begun, {Ready: true, Stages: []guest.Stage{one, two}}},
			false,
			[]guest.Stage{one, two},
			[]int{0, 1},
		},
		{
			"nothing new for a while",
			[]guest.Status{begun, begun, {Ready: true, Stages: begun.Stages}},
			false,
			[]guest.Stage{one},
			[]int{0, 1, 1},
		},
		{
			"failed",
			[]guest.Status{begun, {Failed: "no carrier", Stages: begun.Stages}},
			true,
			[]guest.Stage{one},
			[]int{0, 1},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := &machine{states: tt.states}
			c, _ := serve(t, m)
			var told []guest.Stage
			_, err := c.Follow(t.Context(), func(s guest.Stage) { told = append(told, s) })
			if errors.Is(err, guest.ErrFailed) != tt.failed || (err != nil) != tt.failed {
				t.Errorf("error %v", err)
			}
			if diff := cmp.Diff(tt.told, told); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tt.seen, m.seen); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestNobodyThere(t *testing.T) {
	server := httptest.NewServer(nil)
	address := strings.TrimPrefix(server.URL, "http://")
	server.Close()
	cause := errors.New("the machine is gone")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 300*time.Millisecond, cause)
	defer cancel()
	if _, err := guest.NewClient(address, "").WaitReady(ctx); !errors.Is(err, cause) {
		t.Errorf("error %v", err)
	}
}

func TestWrongToken(t *testing.T) {
	m := &machine{states: []guest.Status{{Ready: true}}}
	server := httptest.NewServer((&agent.Agent{Machine: m, Token: "secret"}).Handler())
	defer server.Close()
	c := guest.NewClient(strings.TrimPrefix(server.URL, "http://"), "guess")
	if _, err := c.WaitReady(t.Context()); err == nil || !strings.Contains(err.Error(), "wrong token") {
		t.Errorf("error %v", err)
	}
}
