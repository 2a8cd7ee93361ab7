package gobuild

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// grace is the time that an interrupted go command gets before it is killed.
const grace = 10 * time.Second

// Command runs the go command.
type Command struct {
	Folder string   // "" is the working folder
	Env    []string // besides the environment of this process
	// Progress gets each line of standard error and reports whether it is progress, and no part of an error.
	Progress func(line string) bool
}

// Run runs go with the arguments and returns its standard output. A workspace or flags of the user's own would build
// something else than the modules pin, so it has neither.
func (c Command) Run(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = c.Folder
	cmd.Env = append(append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS="), c.Env...)
	var stdout bytes.Buffer
	stderr := &lineWriter{progress: c.Progress}
	cmd.Stdout, cmd.Stderr = &stdout, stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGINT) }
	cmd.WaitDelay = grace
	err := cmd.Run()
	stderr.end()
	if ctx.Err() != nil {
		return "", fmt.Errorf("interrupted: %w", context.Cause(ctx))
	}
	if err != nil {
		if advice, line, known := explain(stderr.said); known {
			return "", fmt.Errorf("%s\n%s", advice, line)
		}
		return "", fmt.Errorf("go %s%s: %w\n%s", args[0], in(c.Folder), err, tail(stderr.said))
	}
	return stdout.String(), nil
}

func in(folder string) string {
	if folder == "" {
		return ""
	}
	return " in " + folder
}

// lineWriter cuts what it gets into lines and keeps those that are no progress.
type lineWriter struct {
	progress func(string) bool
	rest     []byte
	said     []string
}

// Write takes output as it comes. It never fails.
func (w *lineWriter) Write(output []byte) (int, error) {
	w.rest = append(w.rest, output...)
	for {
		line, rest, whole := bytes.Cut(w.rest, []byte("\n"))
		if !whole {
			return len(output), nil
		}
		w.rest = rest
		w.take(string(line))
	}
}

// end takes a last line without its end.
func (w *lineWriter) end() {
	if len(w.rest) > 0 {
		w.take(string(w.rest))
		w.rest = nil
	}
}

func (w *lineWriter) take(line string) {
	if w.progress != nil && w.progress(line) {
		return
	}
	if !strings.HasPrefix(line, downloading) {
		w.said = append(w.said, line)
	}
}

// explain returns the advice and one line for an error that is not about the program. The go command repeats such an
// error for each file.
func explain(said []string) (advice, line string, known bool) {
	for _, trouble := range troubles() {
		for _, line := range said {
			if strings.Contains(line, trouble.says) {
				return trouble.advice, strings.TrimSpace(line), true
			}
		}
	}
	return "", "", false
}

func tail(said []string) string { return strings.Join(said[max(0, len(said)-20):], "\n") }

// trouble is an error of the go command that is not about the program.
type trouble struct{ says, advice string }

func troubles() []trouble {
	const proxy = "set GOPROXY to one that this machine reaches"
	return []trouble{
		{
			"no space left on device",
			"no space is left: make room, or set GOCACHE, GOMODCACHE and TMPDIR to folders that have it",
		},
		{"dial tcp", "the proxy of Go modules does not answer: is there a network? " + proxy},
		{"verifying ", "the checksum of a module could not be verified: see go help module-auth"},
		{": reading http", "the proxy of Go modules does not serve that: " + proxy},
	}
}
