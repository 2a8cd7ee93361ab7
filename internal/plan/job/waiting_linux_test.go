package job

import (
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// TestWaitingEnds: a pod that waits for launch exits with 0 as soon as it gets a signal.
func TestWaitingEnds(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("no shell to wait in")
	}
	cmd := exec.Command("sh", "-c", strings.Replace(waiting, "while", "echo ready; while", 1))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // the sleep in it ends with the group
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	if _, err := out.Read(make([]byte, 16)); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if state, err := cmd.Process.Wait(); err != nil || !state.Success() {
		t.Errorf("the shell that waits: %v, %v", state, err)
	}
}
