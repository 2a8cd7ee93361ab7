package launch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/railhead/railhead/internal/exit"
	"github.com/railhead/railhead/internal/nccl"
)

// Environment is base with the variables set, those that are to be left unset taken out, and the rest as it was.
func Environment(base []string, vars []nccl.Var) []string {
	decided := make(map[string]bool, len(vars))
	for _, v := range vars {
		decided[v.Name] = true
	}
	env := make([]string, 0, len(base)+len(vars))
	for _, entry := range base {
		if name, _, _ := strings.Cut(entry, "="); !decided[name] {
			env = append(env, entry)
		}
	}
	for _, v := range vars {
		if v.Source != nccl.LeftUnset {
			env = append(env, v.Name+"="+v.Value)
		}
	}
	return env
}

// Exec replaces this process by the command: same PID, so that signals and the exit code are the command's own.
// It returns only when that fails.
func Exec(argv, env []string) error {
	path, err := lookPath(argv[0], env)
	if err == nil {
		err = syscall.Exec(path, argv, env)
	}
	if errors.Is(err, syscall.ENOEXEC) && !isELF(path) {
		// execvp(3) gives a file without an interpreter line to the shell.
		if e := syscall.Exec(shell, append([]string{shell, path}, argv[1:]...), env); e != nil {
			err = fmt.Errorf("%w, and as a script: %s: %w", err, shell, e)
		}
	}
	return fmt.Errorf("start %s: %w", argv[0], err)
}

const shell = "/bin/sh"

// isELF reports whether the file is a program, of another architecture if execve(2) does not take it.
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

// ExitCode is the code with which to leave after Exec failed.
func ExitCode(err error) exit.Code {
	if errors.Is(err, fs.ErrNotExist) {
		return exit.NotFound
	}
	return exit.CannotInvoke
}

// lookPath searches PATH of env as execvp(3) does: a file that is there but cannot be executed is remembered while the
// search goes on.
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

// executable reports why a file cannot be run.
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
