package delivery

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// installed runs the script of the init container in a temporary folder.
func installed(t *testing.T, programs []Program, damage bool) (output string, program []byte, err error) {
	t.Helper()
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, p := range programs {
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
	out, err := exec.Command("sh", "-c", strings.ReplaceAll(script(programs), "/railhead/", root+"/")).CombinedOutput()
	program, _ = os.ReadFile(filepath.Join(root, "bin", "railhead-pod"))
	return string(out), program, err
}

func TestInstallScript(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("no shell to run the script in")
	}
	binary := make([]byte, 2*PartSize+7)
	_, _ = rand.NewChaCha8([32]byte{}).Read(binary) // which gzip cannot compress
	mine := []Program{Pack(runtime.GOARCH, binary)}
	if out, program, err := installed(t, mine, false); err != nil || string(program) != string(binary) {
		t.Errorf("put together: %v, %d bytes\n%s", err, len(program), out)
	}
	if _, err := exec.LookPath("sha256sum"); err == nil {
		if out, _, err := installed(t, mine, true); err == nil || !strings.Contains(out, "is damaged") {
			t.Errorf("damaged: %v\n%s", err, out)
		}
	}
	other := []Program{Pack("s390x", binary)}
	if out, _, err := installed(t, other, false); err == nil || !strings.Contains(out, "was not delivered for") {
		t.Errorf("another architecture: %v\n%s", err, out)
	}
}
