//go:build linux

package podrun

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestInstall(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	to := filepath.Join(dir, "railhead-pod")
	defer syscall.Umask(syscall.Umask(0o077))
	for _, round := range []string{"into an empty folder", "over the one that is there"} {
		syscall.Umask(0o077)
		if at, err := Install(dir); at != to || err != nil {
			t.Fatalf("%s: at %q, %v", round, at, err)
		}
		got, err := os.ReadFile(to)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: not the program: %d bytes of %d, %v", round, len(got), len(want), err)
		}
		if info, err := os.Stat(to); err != nil || info.Mode() != 0o755 {
			t.Errorf("%s: mode %v, %v", round, info.Mode(), err)
		}
		if err := os.WriteFile(to, []byte("an older one"), 0o600); err != nil {
			t.Fatal(err)
		}
		if names, err := os.ReadDir(dir); err != nil || len(names) != 1 {
			t.Errorf("%s: files left next to it: %v, %v", round, names, err)
		}
	}
}

func TestInstallFails(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o022))
	dir := t.TempDir()
	file, taken := filepath.Join(dir, "file"), filepath.Join(dir, "taken")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(taken, "railhead-pod", "x"), 0o755); err != nil {
		t.Fatal(err)
	}
	none := filepath.Join(dir, "none")
	for place, want := range map[string]string{
		none:  "mount the training container's volume there",
		file:  "not a directory",
		taken: syscall.EISDIR.Error(),
	} {
		if _, err := Install(place); err == nil || !strings.HasPrefix(err.Error(), "install into "+place+": ") ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", place, err, want)
		}
	}
	if _, err := Install(none); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("nothing there: %v", err)
	}
	if names, _ := os.ReadDir(taken); len(names) != 1 {
		t.Errorf("files left behind: %v", names)
	}
}
