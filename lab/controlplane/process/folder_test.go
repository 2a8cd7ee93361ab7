package process

import (
	"os"
	"path/filepath"
	"testing"
)

func TestFolder(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	made := func() (string, *os.File) {
		t.Helper()
		dir, lock, err := Folder("lab-*")
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
	kept, lock := made()
	if err := os.Remove(lock.Name()); err != nil {
		t.Fatal(err)
	}
	lock.Close()
	abandoned, lock := made()
	lock.Close() // as the end of its process would
	used, lock := made()
	defer lock.Close()
	if there(abandoned) || !there(used) || !there(kept) {
		t.Errorf("of a process that is gone %v, in use %v, kept %v", there(abandoned), there(used), there(kept))
	}
}
