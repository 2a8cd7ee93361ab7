package controlplane

import (
	"os"
	"path/filepath"
	"testing"
)

func TestTemporary(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	made := func() (string, *os.File) {
		t.Helper()
		dir, lock, err := temporary()
		if err == nil {
			err = os.Mkdir(filepath.Join(dir, "log"), 0o700)
		}
		if err != nil {
			t.Fatal(err)
		}
		return dir, lock
	}
	there := func(dir string) bool {
		_, err := os.Stat(dir)
		return err == nil
	}
	abandoned, lock := made()
	lock.Close() // as the end of its process would
	used, lock := made()
	defer lock.Close()
	if there(abandoned) {
		t.Error("the folder of a process that is gone stays")
	}
	kept, lock := made()
	if err := (&ControlPlane{dir: kept, lock: lock, keep: true}).leave(); err != nil {
		t.Error(err)
	}
	removed, lock := made()
	if err := (&ControlPlane{dir: removed, lock: lock}).leave(); err != nil {
		t.Error(err)
	}
	if !there(used) || !there(filepath.Join(kept, "log")) || there(removed) {
		t.Errorf("in use %v, kept logs %v, left %v", there(used), there(filepath.Join(kept, "log")), there(removed))
	}
}
