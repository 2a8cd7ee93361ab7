package controlplane

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/railhead/railhead/lab/controlplane/process"
)

func TestLeave(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	left := func(keep bool) *ControlPlane {
		t.Helper()
		dir, lock, err := process.Folder(folders)
		if err != nil {
			t.Fatal(err)
		}
		p := &ControlPlane{dir: dir, lock: lock, keep: keep}
		if err := os.MkdirAll(p.Logs(), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := p.leave(); err != nil {
			t.Error(err)
		}
		return p
	}
	there := func(file string) bool {
		_, err := os.Stat(file)
		return err == nil
	}
	kept, removed := left(true), left(false)
	if !there(kept.Logs()) || there(filepath.Join(kept.dir, "lock")) || there(removed.dir) {
		t.Errorf("kept logs %v, their lock %v, left %v", there(kept.Logs()),
			there(filepath.Join(kept.dir, "lock")), there(removed.dir))
	}
}
