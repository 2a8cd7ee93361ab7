package process

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// Folder makes a temporary folder by a pattern of os.MkdirTemp, and locks it until the lock is closed or this process
// ends. It first removes those of processes that were killed: their children are gone with them, but their folders
// are not. A folder whose lock file was removed is kept.
func Folder(pattern string) (dir string, lock *os.File, err error) {
	if old, err := filepath.Glob(filepath.Join(os.TempDir(), pattern)); err == nil {
		for _, dir := range old {
			removeAbandoned(dir)
		}
	}
	dir, err = os.MkdirTemp("", pattern)
	if err != nil {
		return "", nil, err
	}
	lock, err = os.OpenFile(lockFile(dir), os.O_CREATE|os.O_RDWR|os.O_EXCL, 0o600)
	if err != nil {
		return "", nil, err
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", nil, fmt.Errorf("lock %s: %w", dir, err)
	}
	return dir, lock, nil
}

func lockFile(dir string) string { return filepath.Join(dir, "lock") }

// removeAbandoned removes a folder that no process has locked. A folder just made has its lock file a moment before
// it is locked: but then nothing else is in it, and it stays.
func removeAbandoned(dir string) {
	f, err := os.OpenFile(lockFile(dir), os.O_RDWR, 0)
	if err != nil {
		return
	}
	defer f.Close()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) < 2 || syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		return
	}
	_ = os.RemoveAll(dir)
}
