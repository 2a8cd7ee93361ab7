package agent

import (
	"os"
	"path/filepath"
	"syscall"
)

// cage is a cgroup that holds a command with all that it starts. A process group would not: programs as timeout(1) make
// one of their own.
type cage struct {
	folder string // "": there is none
	file   *os.File
}

func newCage(parent string) (*cage, error) {
	if parent == "" {
		return &cage{}, nil
	}
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp(parent, "exec-")
	if err != nil {
		return nil, err
	}
	file, err := os.Open(folder)
	if err != nil {
		return nil, err
	}
	return &cage{folder, file}, nil
}

// lock has a process start in the cage (clone3 with CLONE_INTO_CGROUP).
func (c *cage) lock(attr *syscall.SysProcAttr) {
	if c.file != nil {
		attr.UseCgroupFD, attr.CgroupFD = true, int(c.file.Fd())
	}
}

// kill kills all that is in the cage (Documentation/admin-guide/cgroup-v2.rst, cgroup.kill).
func (c *cage) kill() error {
	if c.file == nil {
		return nil
	}
	return os.WriteFile(filepath.Join(c.folder, "cgroup.kill"), []byte("1"), 0)
}

// close removes the cage if it is empty: processes that a command left behind keep its cgroup.
func (c *cage) close() {
	if c.file != nil {
		c.file.Close()
		_ = os.Remove(c.folder)
	}
}
