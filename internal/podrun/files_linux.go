package podrun

import (
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/railhead/railhead/internal/nccl"
)

// RunDir holds the environment of the started command for shells that are opened in the container later.
const RunDir = "/run/railhead"

// runFiles maps the files of RunDir with the environment to their formats.
var runFiles = map[string]string{"env.sh": "shell", "env": "dotenv", "env.json": "json", "nccl.conf": "nccl-conf"}

// processFile names the process of the environment: when that process has ended, the environment is out of date.
const processFile = "process"

// WriteFiles writes the environment of a process to dir. If process is "", it writes the environment of processes that
// start later. A reader never sees half a file. Many containers have no writable /run, so an error need not stop the
// caller.
func WriteFiles(dir, process string, vars []nccl.Var) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, format := range runFiles {
		text, err := nccl.Format(vars, format, true)
		if err != nil {
			return err
		}
		if err := replaceFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return err
		}
	}
	if process == "" {
		return nil
	}
	return replaceFile(filepath.Join(dir, processFile), process+"\n", 0o644)
}

// replaceFile writes a temporary file and renames it. It avoids os.File, whose first use starts the network poller.
func replaceFile(name, text string, mode uint32) error {
	temporary := name + "." + strconv.Itoa(os.Getpid())
	fd, err := unix.Open(temporary, unix.O_WRONLY|unix.O_CREAT|unix.O_TRUNC|unix.O_NOFOLLOW|unix.O_CLOEXEC, mode)
	if err != nil {
		return err
	}
	n, err := unix.Write(fd, []byte(text))
	if closed := unix.Close(fd); err == nil {
		err = closed
	}
	if err == nil && n < len(text) {
		err = unix.ENOSPC
	}
	if err == nil {
		err = unix.Rename(temporary, name)
	}
	if err != nil {
		_ = unix.Unlink(temporary)
	}
	return err
}
