package vm

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestUsable(t *testing.T) {
	dir := t.TempDir()
	file, closed := filepath.Join(dir, "kvm"), filepath.Join(dir, "closed")
	for name, mode := range map[string]os.FileMode{file: 0o600, closed: 0} {
		if err := os.WriteFile(name, nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	for name, test := range map[string]struct{ device, says string }{
		"none":            {filepath.Join(dir, "none"), "there is no "},
		"something else":  {file, "is no KVM: inappropriate ioctl for device"},
		"another device":  {"/dev/null", "/dev/null is no KVM"},
		"not for us":      {closed, "is not for this user"},
		"below something": {filepath.Join(file, "kvm"), "not a directory"},
	} {
		if name == "not for us" && os.Getuid() == 0 {
			continue // nothing is closed to root
		}
		if err := usable(test.device); err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v, want %q", name, err, test.says)
		}
	}
}

func TestRemember(t *testing.T) {
	file := filepath.Join(t.TempDir(), "kvm.json")
	if c, ok := remembered(file, "boot 1"); ok {
		t.Errorf("%v is remembered of nothing", c)
	}
	want := Choice{TCG, "/dev/kvm is there, and boots no kernel"}
	if err := remember(file, "boot 1", want); err != nil {
		t.Fatal(err)
	}
	if got, ok := remembered(file, "boot 1"); !ok || got != want {
		t.Errorf("%v, %v", got, ok)
	}
	if c, ok := remembered(file, "boot 2"); ok {
		t.Errorf("%v is remembered of another boot of the host", c)
	}
	if err := os.WriteFile(file, []byte(`{"key":"boot 1"`), 0o644); err != nil {
		t.Fatal(err)
	}
	if c, ok := remembered(file, "boot 1"); ok {
		t.Errorf("%v is remembered of a torn file", c)
	}
}

func TestChoice(t *testing.T) {
	for want, c := range map[string]Choice{
		"the machines run on KVM: it boots a kernel in 1.2s": {KVM, "it boots a kernel in 1.2s"},
		"the machines are emulated: there is no /dev/kvm":    {TCG, "there is no /dev/kvm"},
	} {
		if got := c.String(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
