package assets

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

// lockPoll is the interval at which a process looks whether another's build has ended: flock(2) cannot wait for a
// context.
const lockPoll = 200 * time.Millisecond

// Cache returns the folder of the lab's builds.
func Cache() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "railhead", "lab"), nil
}

// folder returns the folder of the module's programs. Its name has the hash of everything that affects the build.
func (b builder) folder(module string) (string, error) {
	sum := sha256.New()
	for _, p := range slices.Sorted(maps.Keys(b.recipes)) {
		if r := b.recipes[p]; r.module == module {
			fmt.Fprintf(sum, "\x00%s\x00%s", p, r.flavour())
		}
	}
	if err := addFolder(sum, filepath.Join(b.modules, module)); err != nil {
		return "", err
	}
	return filepath.Join(b.cache, module, hex.EncodeToString(sum.Sum(nil))[:12]), nil
}

// addFolder adds every file of the folder, with its name, in the order of their names.
func addFolder(sum hash.Hash, folder string) error {
	return fs.WalkDir(os.DirFS(folder), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(filepath.Join(folder, name))
		fmt.Fprintf(sum, "\x00%s\x00%d\x00%s", name, len(text), text)
		return err
	})
}

// lock takes the lock file for this process and returns how to give it back. It calls waiting once when another has it.
func lock(ctx context.Context, path string, waiting func()) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	ticks := time.NewTicker(lockPoll)
	defer ticks.Stop()
	for first := true; ; first = false {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { f.Close() }, nil // closing the file gives the lock back; so does the end of the process
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			f.Close()
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		if first {
			waiting()
		}
		select {
		case <-ctx.Done():
			f.Close()
			return nil, fmt.Errorf("wait for lock %s: %w", path, context.Cause(ctx))
		case <-ticks.C:
		}
	}
}
