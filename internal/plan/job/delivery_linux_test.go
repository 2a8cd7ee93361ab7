package job

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// installed runs the script of the init container in a temporary folder.
func installed(t *testing.T, d delivery, damage bool) (output string, program []byte, err error) {
	t.Helper()
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, p := range d.programs {
		folder := filepath.Join(root, "parts", p.Arch)
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		for i, part := range p.Parts {
			if damage {
				part = part[1:]
			}
			if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("%03d", i)), part, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	out, err := exec.Command("sh", "-c", strings.ReplaceAll(d.script(), "/railhead/", root+"/")).CombinedOutput()
	program, _ = os.ReadFile(filepath.Join(root, "bin", "railhead-pod"))
	return string(out), program, err
}

func TestInstallScript(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("no shell to run the script in")
	}
	binary := make([]byte, 2*partSize+7)
	copy(binary, "program")
	mine := delivery{by: ByConfigMaps, programs: []Program{NewProgram(runtime.GOARCH, binary)}}
	if out, program, err := installed(t, mine, false); err != nil || string(program) != string(binary) {
		t.Errorf("put together: %v, %d bytes\n%s", err, len(program), out)
	}
	if _, err := exec.LookPath("sha256sum"); err == nil {
		if out, _, err := installed(t, mine, true); err == nil || !strings.Contains(out, "is damaged") {
			t.Errorf("damaged: %v\n%s", err, out)
		}
	}
	other := delivery{by: ByConfigMaps, programs: []Program{NewProgram("s390x", binary)}}
	if out, _, err := installed(t, other, false); err == nil || !strings.Contains(out, "was not delivered for") {
		t.Errorf("another architecture: %v\n%s", err, out)
	}
}

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
