// Package boot sets up the kernel of a virtual machine as its Config describes: file systems, modules, network cards,
// RDMA devices, limits.
package boot

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"github.com/railhead/railhead/lab/machines/guest"
)

// Root makes the root file system a mount like any other and makes it this process's root. The kernel unpacks the
// initial file system into one that can be neither moved nor left, so pivot_root(2) refuses it (EINVAL), and with it
// runc.
func Root() error {
	for _, step := range []struct {
		name string
		do   func() error
	}{
		{"bind / to /mnt", func() error { return unix.Mount("/", "/mnt", "", unix.MS_BIND, "") }},
		{"enter /mnt", func() error { return unix.Chdir("/mnt") }},
		{"move /mnt to /", func() error { return unix.Mount(".", "/", "", unix.MS_MOVE, "") }},
		{"make . the root", func() error { return unix.Chroot(".") }},
		{"share mounts under /", func() error { return unix.Mount("", "/", "", unix.MS_SHARED|unix.MS_REC, "") }},
	} {
		if err := step.do(); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
	}
	return nil
}

type mount struct {
	kind, at string
	flags    uintptr
	options  string
}

// A node's files are in memory. A tmpfs can be the upper layer of an overlay, the root file system itself need not.
var kernelMounts = []mount{
	{"proc", "/proc", unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC, ""},
	{"sysfs", "/sys", unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC, ""},
	{"devtmpfs", "/dev", unix.MS_NOSUID, ""},
	{"devpts", "/dev/pts", unix.MS_NOSUID | unix.MS_NOEXEC, "mode=620,ptmxmode=666"},
	{"tmpfs", "/dev/shm", unix.MS_NOSUID | unix.MS_NODEV, ""},
	{"mqueue", "/dev/mqueue", unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC, ""},
	{"tmpfs", "/run", unix.MS_NOSUID | unix.MS_NODEV, "mode=755"},
	{"tmpfs", "/var/lib", 0, "mode=755,size=80%"},
	{"cgroup2", Cgroups, unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC, ""},
	{"bpf", "/sys/fs/bpf", unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC, ""},
}

// Mounts mounts the kernel's file systems, and those that are in memory.
func Mounts() error {
	for _, m := range kernelMounts {
		if err := m.do(m.kind); err != nil {
			return err
		}
	}
	for link, to := range map[string]string{
		"/dev/fd":     "/proc/self/fd",
		"/dev/stdin":  "/proc/self/fd/0",
		"/dev/stdout": "/proc/self/fd/1",
		"/dev/stderr": "/proc/self/fd/2",
		"/var/run":    "/run",
	} {
		if err := os.Symlink(to, link); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}

// Configfs mounts the file system by which rdma_cm is configured. It is a module, which rdma_cm brings along.
func Configfs() error {
	return mount{"configfs", "/sys/kernel/config", unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC, ""}.do("configfs")
}

// Shares mounts the two folders of the host. What is in the programs' does not change while a machine runs, so the
// kernel may keep it (Documentation/filesystems/9p.rst, cache=loose): a plugin that is executed again does not come
// through the wire again.
func Shares() error {
	const wire = "trans=virtio,version=9p2000.L,msize=524288"
	own := mount{"9p", guest.OwnFolder, unix.MS_RDONLY, wire}
	if err := own.do(guest.OwnShare); err != nil {
		return err
	}
	programs := mount{"9p", guest.ProgramFolder, unix.MS_RDONLY, wire + ",cache=loose"}
	return programs.do(guest.ProgramShare)
}

func (m mount) do(source string) error {
	if err := os.MkdirAll(m.at, 0o755); err != nil {
		return err
	}
	if err := unix.Mount(source, m.at, m.kind, m.flags, m.options); err != nil {
		return fmt.Errorf("mount %s at %s: %w", m.kind, m.at, err)
	}
	return nil
}
