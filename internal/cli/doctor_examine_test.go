package cli

import (
	"os"
	"path/filepath"
	"testing"
)

// A pod gets the program itself: it may have no gzip.
func TestProgramOf(t *testing.T) {
	file := filepath.Join(t.TempDir(), "railhead-pod")
	if err := os.WriteFile(file, []byte("\x7fELF"), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := programOf(map[string]string{"amd64": file})("amd64")
	if err != nil || string(got) != "\x7fELF" {
		t.Errorf("%q, %v", got, err)
	}
}
