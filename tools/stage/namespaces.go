//go:build linux

package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
)

// insideName is the argv[0] by which the program knows that it is in its namespaces.
const insideName = "stage: inside"

// outside starts the program again in new namespaces and stands for it: signals go in, the exit status comes out.
func outside(args []string) int {
	if _, err := parse(args); errors.Is(err, flag.ErrHelp) {
		fmt.Print(usage)
		return 0
	} else if err != nil {
		fmt.Fprint(os.Stderr, usage)
		return complain(exitUsage, err)
	}
	runtime.LockOSThread() // Pdeathsig tells of the end of the thread that started the process
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, forwarded()...)
	cmd, err := start(args)
	if err != nil {
		return complain(exitNotPermitted, fmt.Errorf("namespaces are not permitted here: %w", err))
	}
	go func() {
		for s := range signals {
			_ = cmd.Process.Signal(s) // it may have ended
		}
	}()
	if err := cmd.Wait(); err != nil && cmd.ProcessState == nil {
		return complain(exitSetup, err)
	}
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return cmd.ProcessState.ExitCode()
}

// forwarded leaves out signals that a terminal sends to the whole process group, which includes the command.
func forwarded() []os.Signal {
	signals := []os.Signal{syscall.SIGHUP, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGUSR2}
	tty, err := os.Open("/dev/tty")
	if err != nil {
		return append(signals, syscall.SIGINT, syscall.SIGQUIT)
	}
	_ = tty.Close()
	return signals
}

// start tries without a user namespace first: a process that may do that keeps its capabilities.
func start(args []string) (*exec.Cmd, error) {
	const namespaces = syscall.CLONE_NEWNS | syscall.CLONE_NEWNET
	cmd := command(args, &syscall.SysProcAttr{Cloneflags: namespaces})
	if err := cmd.Start(); !errors.Is(err, syscall.EPERM) {
		return cmd, err
	}
	cmd = command(args, &syscall.SysProcAttr{
		Cloneflags:  namespaces | syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}},
	})
	return cmd, cmd.Start()
}

func command(args []string, attributes *syscall.SysProcAttr) *exec.Cmd {
	attributes.Pdeathsig = syscall.SIGKILL
	cmd := exec.Command("/proc/self/exe")
	cmd.Args = append([]string{insideName}, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = attributes
	return cmd
}
