package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// scene is one command of a demo.
type scene struct {
	why  string
	line string   // the command line, of words without spaces
	code int      // the exit code that it must have
	says []string // texts that its output must contain
}

func playAll(ctx context.Context, w io.Writer, scenes []scene) error {
	for _, s := range scenes {
		if err := s.play(ctx, w); err != nil {
			return err
		}
	}
	return nil
}

// play shows and runs the command.
func (s scene) play(ctx context.Context, w io.Writer) error {
	s.show(w)
	return s.run(ctx, w)
}

func (s scene) show(w io.Writer) { fmt.Fprintf(w, "\n%s\n$ %s\n", s.why, s.line) }

// run writes the output of the command to w and returns an error if it is not as expected. The command gets w itself
// where no text is expected, so that it can draw on a terminal.
func (s scene) run(ctx context.Context, w io.Writer) error {
	var output bytes.Buffer
	if len(s.says) > 0 {
		w = io.MultiWriter(w, &output)
	}
	words := strings.Fields(s.line)
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Stdout, cmd.Stderr = w, w
	// In a process group of its own Ctrl-C of the terminal reaches it once, through Cancel, and with it the children of
	// `go run`, which ignores SIGINT.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
	cmd.WaitDelay = time.Minute // a lab that goes down
	err := cmd.Run()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var exited *exec.ExitError
	if err != nil && !errors.As(err, &exited) {
		return fmt.Errorf("%s: %w", s.line, err)
	}
	if code := cmd.ProcessState.ExitCode(); code != s.code {
		return fmt.Errorf("%s: exit code %d, not %d", s.line, code, s.code)
	}
	for _, text := range s.says {
		if !strings.Contains(output.String(), text) {
			return fmt.Errorf("%s: the output does not contain %q", s.line, text)
		}
	}
	return nil
}
