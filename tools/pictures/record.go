package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/creack/pty"
)

const (
	typing = 20 * time.Millisecond   // for a character
	typed  = 150 * time.Millisecond  // from the end of a command line to its output
	read   = 700 * time.Millisecond  // from the output to the next command
	longer = 1500 * time.Millisecond // the most that a pause of a live scene takes in the picture
)

// play types a command, runs it in a pseudo-terminal and shows its output. A scene that is not live has no pauses in
// the output of a command, so that its picture is the same each time.
func (t terminal) play(ctx context.Context, s *screen, dir, command string) error {
	if len(s.rows()) > 0 {
		s.pause(read)
		s.write("\r\n")
	}
	s.command(command)
	last := time.Now()
	err := runIn(ctx, dir, command, t.Columns, func(text []byte) {
		if t.Live {
			s.pause(min(time.Since(last), longer))
			last = time.Now()
			_, _ = os.Stdout.Write(text) // a lab takes minutes
		}
		s.write(string(text))
	})
	var exited *exec.ExitError
	if errors.As(err, &exited) { // a fault is shown, and has the exit code for it
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", command, err)
	}
	return nil
}

// runIn runs a command line in a new terminal.
func runIn(ctx context.Context, dir, command string, columns int, show func([]byte)) error {
	cmd := exec.CommandContext(ctx, "sh", "-c", command)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "TERM=xterm-256color", "TZ=UTC", "LC_ALL=C.UTF-8")
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) } // as Ctrl-C does
	cmd.WaitDelay = time.Minute
	// Taller than any output: nothing scrolls away.
	console, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: mostRows, Cols: uint16(columns)})
	if err != nil {
		return err
	}
	defer console.Close()
	buffer := make([]byte, 1<<16)
	for {
		n, err := console.Read(buffer)
		show(buffer[:n])
		if errors.Is(err, io.EOF) || errors.Is(err, syscall.EIO) { // EIO: the program closed its end
			break
		}
		if err != nil {
			return err
		}
	}
	return errors.Join(cmd.Wait(), ctx.Err())
}
