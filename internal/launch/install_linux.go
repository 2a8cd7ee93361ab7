package launch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// program is the name under which Install leaves this program.
const program = "railhead-pod"

// Install copies this very program into a folder and returns where it is then; a process that starts it meanwhile gets
// the old one or the new one, whole.
func Install(dir string) (string, error) {
	to := filepath.Join(dir, program)
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("install into %s: %w; mount the volume there that the training container shares", dir, fs.ErrNotExist)
	case err != nil:
		return "", fmt.Errorf("install into %s: %w", dir, errors.Unwrap(err))
	case !info.IsDir():
		return "", fmt.Errorf("install into %s: not a folder", dir)
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
