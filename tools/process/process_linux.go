// Package process starts commands as container runtimes do, for stand-ins of kubelets.
package process

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// outliveTime is how long the output of processes that outlive their command is still passed on. They may hold its
// streams open for ever.
const outliveTime = time.Second

// Start starts a command and passes on its output; a nil writer gets none. wait returns what cmd.Wait does, when the
// command has ended and all that it wrote has been passed on, however long that takes.
func Start(cmd *exec.Cmd, stdout, stderr io.Writer) (wait func() error, err error) {
	var pipes []*os.File
	var copies sync.WaitGroup
	for stream, to := range map[*io.Writer]io.Writer{&cmd.Stdout: stdout, &cmd.Stderr: stderr} {
		if to == nil {
			continue
		}
		ours, theirs, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		defer theirs.Close() // the command has its own
		*stream, pipes = theirs, append(pipes, ours)
		copies.Go(func() { pass(to, ours) })
	}
	cmd.WaitDelay = outliveTime // for the input
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return func() error {
		err := cmd.Wait()
		for _, pipe := range pipes {
			_ = pipe.SetReadDeadline(time.Now().Add(outliveTime)) // pipes have deadlines
		}
		copies.Wait()
		return err
	}, nil
}

// pass copies a pipe until it is closed or, after its deadline, empty.
func pass(to io.Writer, pipe *os.File) {
	defer pipe.Close()
	if _, err := io.Copy(to, pipe); !errors.Is(err, os.ErrDeadlineExceeded) {
		return
	}
	_ = pipe.SetReadDeadline(time.Time{}) // what is in the pipe can be read without waiting
	raw, err := pipe.SyscallConn()
	if err != nil {
		return
	}
	text := make([]byte, 64<<10)
	for n := 1; n > 0; {
		_ = raw.Read(func(fd uintptr) bool {
			n, err = syscall.Read(int(fd), text)
			return true
		})
		if n > 0 {
			_, _ = to.Write(text[:n])
		}
	}
}
