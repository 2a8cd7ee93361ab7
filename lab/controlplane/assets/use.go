package assets

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// useFile is locked (shared) by every process that uses the cache, for its lifetime.
const useFile = "use.lock"

// Use protects the cache from pruning until this process ends. It waits for a process that prunes, and gives progress a
// line then.
func Use(ctx context.Context, progress func(line string)) error {
	fd, err := openUse()
	if err != nil {
		return err
	}
	ticks := time.NewTicker(lockPoll)
	defer ticks.Stop()
	for first := true; ; first = false {
		err := lockUse(fd, unix.F_RDLCK)
		if !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EACCES) {
			return err // nil: the lock goes with the process, for the file stays open
		}
		if first {
			progress("waiting for another process that removes old folders of the cache")
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the cache: %w", context.Cause(ctx))
		case <-ticks.C:
		}
	}
}

// useAlone is Use for this process alone, until giveBack is called. What it has used itself is no hindrance: these
// locks belong to processes, not to open files (fcntl(2)).
func useAlone() (giveBack func() error, err error) {
	fd, err := openUse()
	if err != nil {
		return nil, err
	}
	err = lockUse(fd, unix.F_WRLCK)
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
		whose := unix.Flock_t{Type: unix.F_WRLCK}
		if unix.FcntlFlock(fd, unix.F_GETLK, &whose) == nil && whose.Type != unix.F_UNLCK {
			return nil, fmt.Errorf("the cache is in use by process %d: end it first, a lab by 'lab down'", whose.Pid)
		}
		return nil, errors.New("the cache is in use by another process: end it first, a lab by 'lab down'")
	}
	return func() error { return lockUse(fd, unix.F_RDLCK) }, err
}

// openUse opens the file for as long as this process lives: to close any of its descriptors would give back all its
// locks.
func openUse() (fd uintptr, err error) {
	cache, err := Cache()
	if err != nil {
		return 0, err
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return 0, err
	}
	n, err := unix.Open(filepath.Join(cache, useFile), unix.O_CREAT|unix.O_RDWR|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return 0, fmt.Errorf("open %s: %w", filepath.Join(cache, useFile), err)
	}
	return uintptr(n), nil
}

func lockUse(fd uintptr, kind int16) error {
	if err := unix.FcntlFlock(fd, unix.F_SETLK, &unix.Flock_t{Type: kind}); err != nil {
		return fmt.Errorf("lock %s: %w", useFile, err)
	}
	return nil
}
