package controlplane

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// folders are the names of temporary folders.
const folders = "railhead-lab-*"

// temporary makes a temporary folder and locks it for as long as this process lives. It first removes those of processes
// that were killed: what they started is gone with them, their folders are not.
func temporary() (dir string, lock *os.File, err error) {
	if old, err := filepath.Glob(filepath.Join(os.TempDir(), folders)); err == nil {
		for _, dir := range old {
			removeAbandoned(dir)
		}
	}
	dir, err = os.MkdirTemp("", folders)
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

// lockFile is locked while the folder is in use. A folder without it is kept for its logs.
func lockFile(dir string) string { return filepath.Join(dir, "lock") }

// removeAbandoned removes a folder that no process has locked. A folder just made has its lock file a moment before it is
// locked: but then nothing else is in it, and it stays.
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

// leave removes the temporary folder, or all of it but the logs where they are kept.
func (p *ControlPlane) leave() error {
	if p.lock == nil {
		return nil
	}
	defer p.lock.Close()
	if !p.keep {
		return os.RemoveAll(p.dir)
	}
	entries, err := os.ReadDir(p.dir)
	for _, e := range entries {
		if path := filepath.Join(p.dir, e.Name()); path != p.Logs() {
			err = errors.Join(err, os.RemoveAll(path))
		}
	}
	return err
}
