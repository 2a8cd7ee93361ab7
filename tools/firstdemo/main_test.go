package main

import (
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestReadLines(t *testing.T) {
	var log strings.Builder
	start := time.Now().Add(-time.Minute)
	f := readLines(strings.NewReader("built\nThat was the pod's part. Building railhead\n"), &log, start)
	if f.silence < time.Minute || f.pod < time.Minute || !strings.HasPrefix(log.String(), "  60.") {
		t.Errorf("got %+v, log %q", f, log.String())
	}
}

// TestMemoryOf counts the processes of a session of its own.
func TestMemoryOf(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "sh", "-c", "echo; cat; :") // cat is a process of its own
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if got := memoryOf(cmd.Process.Pid); got < 1<<16 || got > 1<<26 {
		t.Errorf("a shell has %d bytes", got)
	}
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if got := memoryOf(cmd.Process.Pid); got != 0 {
		t.Errorf("after its end it has %d bytes", got)
	}
}
