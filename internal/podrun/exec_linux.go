package podrun

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/railhead/railhead/internal/exit"
	"github.com/railhead/railhead/internal/nccl"
)

// Environment returns base with the variables set, and without those that are left unset.
func Environment(base []string, vars []nccl.Var) []string {
	env := slices.DeleteFunc(slices.Clone(base), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.ContainsFunc(vars, func(v nccl.Var) bool { return v.Name == name })
	})
	for _, v := range vars {
		if v.Source != nccl.LeftUnset {
			env = append(env, v.Name+"="+v.Value)
		}
	}
	return env
}

// Exec replaces this process with the command, which keeps the PID: signals reach the command, and its exit code is the
// process's. Exec returns only an error.
func Exec(argv, env []string) error {
	path, err := lookPath(argv[0], env)
	if err == nil {
		err = syscall.Exec(path, argv, env)
	}
	if errors.Is(err, syscall.ENOEXEC) && !isELF(path) {
		// execvp(3) runs a file without an interpreter line in the shell
		if e := syscall.Exec(shell, append([]string{shell, path}, argv[1:]...), env); e != nil {
			err = fmt.Errorf("%w; as a script: %s: %w", err, shell, e)
		}
	}
	return fmt.Errorf("start %s: %w", argv[0], err)
}

const shell = "/bin/sh"

// isELF reports whether the file is a program. If execve(2) refuses one with ENOEXEC, its architecture is another.
func isELF(path string) bool {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	magic := make([]byte, 4)
	n, _ := unix.Read(fd, magic)
	_ = unix.Close(fd) // nothing was written
	return string(magic[:max(n, 0)]) == "\x7fELF"
}

// ExitCode returns the exit code for an error of Exec.
func ExitCode(err error) exit.Code {
	if errors.Is(err, fs.ErrNotExist) {
		return exit.NotFound
	}
	return exit.CannotInvoke
}

// lookPath searches PATH of env as execvp(3) does: a file that cannot be executed does not end the search, but its
// error is returned if no other file is found.
func lookPath(name string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		return name, executable(name)
	}
	if name == "" {
		return "", fs.ErrNotExist
	}
	path := "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	for _, entry := range env {
		if value, ok := strings.CutPrefix(entry, "PATH="); ok {
			path = value
			break // of several, getenv(3) takes the first
		}
	}
	found := fs.ErrNotExist
	for dir := range strings.SplitSeq(path, ":") { // an empty PATH is one empty entry
		if dir == "" {
			dir = "."
		}
		file := filepath.Join(dir, name)
		err := executable(file)
		if err == nil {
			return file, nil
		}
		if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EISDIR) {
			found = err
		}
	}
	return "", found
}

// executable returns why a file cannot be executed.
func executable(file string) error {
	info, err := os.Stat(file)
	if err != nil {
		return errors.Unwrap(err)
	}
	if info.IsDir() {
		return syscall.EISDIR
	}
	const mayExecute = 1 // X_OK
	if syscall.Access(file, mayExecute) != nil {
		return fs.ErrPermission
	}
	return nil
}
