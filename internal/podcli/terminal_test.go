//go:build linux

package podcli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"
)

// onTerminal runs a program on a terminal and writes all that it shows to a file: terminal FILE PROGRAM [ARG...]. The
// ttyout of testscript has only what was read before the program ended.
func onTerminal(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: terminal FILE PROGRAM [ARG...]")
	}
	ours, theirs, err := openTerminal()
	ts.Check(err)
	defer ours.Close()
	cmd := exec.Command("/usr/bin/env", args[1:]...) // it searches the script's PATH
	for _, name := range []string{"PATH", "TERM", "COLORTERM", "NO_COLOR", "GORACE"} {
		if value := ts.Getenv(name); value != "" {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs, theirs, theirs
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	err = cmd.Start()
	_ = theirs.Close() // the program has its own
	ts.Check(err)
	shown, err := io.ReadAll(ours)
	if !errors.Is(err, syscall.EIO) { // the program has closed the terminal
		ts.Check(err)
	}
	if err := cmd.Wait(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		ts.Check(err)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), shown, 0o600))
}

// openTerminal returns both ends of a pseudoterminal (pts(4)).
func openTerminal() (ours, theirs *os.File, err error) {
	if ours, err = os.OpenFile("/dev/ptmx", os.O_RDWR, 0); err != nil {
		return nil, nil, err
	}
	fd := int(ours.Fd())
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		theirs, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	}
	if err != nil {
		_ = ours.Close()
	}
	return ours, theirs, err
}
