package podrun

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

const program = "railhead-pod"

// Install copies this program into a directory and returns the path of the copy. A process that starts it meanwhile
// gets the old program or the new one.
func Install(dir string) (string, error) {
	to := filepath.Join(dir, program)
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("install into %s: %w; mount the training container's volume there", dir, fs.ErrNotExist)
	case err != nil:
		return "", fmt.Errorf("install into %s: %w", dir, errors.Unwrap(err))
	case !info.IsDir():
		return "", fmt.Errorf("install into %s: not a directory", dir)
	}
	self, err := os.ReadFile("/proc/self/exe")
	if err == nil {
		unix.Umask(0) // executable for everyone
		err = replaceFile(to, string(self), 0o755)
	}
	if err != nil {
		return "", fmt.Errorf("install into %s: %w", dir, err)
	}
	return to, nil
}
