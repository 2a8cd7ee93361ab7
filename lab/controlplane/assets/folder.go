package assets

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Folder is a folder of the cache that is made once.
type Folder struct {
	Name  string        // where it is in the cache; beneath it is one folder per Key
	Key   []string      // everything that affects its content
	What  string        // it is, for people
	First time.Duration // about how long Make takes on two cores
	// Make fills the folder that it is given, and may do so at its own pace: others wait.
	Make func(ctx context.Context, folder string) error
}

// Path returns where the folder is, and makes it first if it is not in the cache. It gives progress a line before and
// after that. A folder whose making was interrupted is not in the cache.
func (f Folder) Path(ctx context.Context, progress func(line string)) (string, error) {
	cache, err := Cache()
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	for _, k := range f.Key {
		fmt.Fprintf(sum, "\x00%d\x00%s", len(k), k)
	}
	path := filepath.Join(cache, f.Name, hex.EncodeToString(sum.Sum(nil))[:12])
	if isFolder(path) {
		return path, nil
	}
	unlock, err := lock(ctx, path+".lock", func() { progress("waiting for another process that makes " + f.What) })
	if err != nil {
		return "", err
	}
	defer unlock()
	if isFolder(path) {
		return path, nil // the other process made it
	}
	if err := f.make(ctx, path, progress); err != nil {
		return "", fmt.Errorf("make %s: %w", f.What, err)
	}
	return path, nil
}

// make makes the folder next to its place and moves it there when it is whole.
func (f Folder) make(ctx context.Context, path string, progress func(string)) error {
	progress(fmt.Sprintf("making %s (about %s the first time)", f.What, roughly(f.First)))
	start := time.Now()
	part := path + ".part" // the holder of the lock owns it
	if err := os.RemoveAll(part); err != nil {
		return err
	}
	defer os.RemoveAll(part)
	if err := os.Mkdir(part, 0o755); err != nil {
		return err
	}
	if err := f.Make(ctx, part); err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("interrupted: %w", context.Cause(ctx))
		}
		return err
	}
	if err := os.Rename(part, path); err != nil {
		return err
	}
	progress(fmt.Sprintf("made %s in %s", f.What, time.Since(start).Round(time.Second)))
	return nil
}

// Lock keeps other processes from doing the same until unlock is called. It gives progress the line once when another
// has the lock.
func Lock(ctx context.Context, name string, progress func(line string), line string) (unlock func(), err error) {
	cache, err := Cache()
	if err != nil {
		return nil, err
	}
	return lock(ctx, filepath.Join(cache, name+".lock"), func() { progress(line) })
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
