package e2e_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/railhead/railhead/internal/cli"
	"github.com/railhead/railhead/lab/controlplane"
)

// patience bounds every command and every wait, on a machine that has other things to do: only a hang takes so long.
const patience = 5 * time.Minute

// result is the output and exit code of a command.
type result struct {
	out, err string
	code     int
}

// user runs railhead as somebody.
type user struct {
	kubeconfig string
	stdin      string
	terminal   bool
	// heard is told every line on stderr, with the means to end the command as Ctrl-C does.
	heard func(line string, interrupt context.CancelFunc)
	// read is told every line on stdout, likewise.
	read func(line string, interrupt context.CancelFunc)
}

// admin is the cluster's administrator.
func admin(t *testing.T, p *controlplane.ControlPlane) user {
	t.Helper()
	return as(t, p, "system:admin", "system:masters")
}

func as(t *testing.T, p *controlplane.ControlPlane, name string, groups ...string) user {
	t.Helper()
	kubeconfig, err := p.Users.KubeconfigFile(name, groups...)
	if err != nil {
		t.Fatal(err)
	}
	return user{kubeconfig: kubeconfig}
}

// railhead runs one command line.
func (u user) railhead(t *testing.T, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tells := func(to func(string, context.CancelFunc)) *lines {
		return &lines{heard: func(line string) {
			if to != nil {
				to(line, cancel)
			}
		}}
	}
	stdout, stderr := tells(u.read), tells(u.heard)
	if u.kubeconfig != "" {
		args = append([]string{"--kubeconfig=" + u.kubeconfig}, args...)
	}
	code := cli.Main(ctx, "railhead", args, "test", cli.Streams{
		In: strings.NewReader(u.stdin), Out: stdout, Err: stderr, TTY: u.terminal, Width: 120,
	})
	r := result{stdout.String(), stderr.String(), code}
	if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		t.Fatalf("railhead %s: not done after %s\n%s", strings.Join(args, " "), patience, r.err)
	}
	return r
}

// does runs a command line that ends well.
func (u user) does(t *testing.T, args ...string) result {
	t.Helper()
	return u.ends(t, 0, args...)
}

// ends runs a command line that ends with a code.
func (u user) ends(t *testing.T, code int, args ...string) result {
	t.Helper()
	r := u.railhead(t, args...)
	if r.code != code {
		t.Fatalf("railhead %s: exit code %d, want %d\nstdout:\n%s\nstderr:\n%s", strings.Join(args, " "), r.code, code, r.out, r.err)
	}
	return r
}

// says wants each of the texts in what the command said on stderr.
func (r result) says(t *testing.T, texts ...string) {
	t.Helper()
	wants(t, "stderr", r.err, texts...)
}

// prints wants each of the texts in what the command wrote to stdout.
func (r result) prints(t *testing.T, texts ...string) {
	t.Helper()
	wants(t, "stdout", r.out, texts...)
}

func wants(t *testing.T, where, got string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(got, text) {
			t.Errorf("%s has no %q:\n%s", where, text, got)
		}
	}
}

// silent wants nothing on stdout.
func (r result) silent(t *testing.T) result {
	t.Helper()
	if r.out != "" {
		t.Errorf("stdout:\n%s", r.out)
	}
	return r
}

// lines is a writer that tells of every line.
type lines struct {
	heard func(line string)

	mu  sync.Mutex
	all bytes.Buffer
	cut string // the line that is not ended
}

func (l *lines) Write(text []byte) (int, error) {
	l.mu.Lock()
	l.all.Write(text)
	whole := strings.Split(l.cut+string(text), "\n")
	l.cut = whole[len(whole)-1]
	l.mu.Unlock()
	for _, line := range whole[:len(whole)-1] {
		l.heard(line)
	}
	return len(text), nil
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.String()
}
