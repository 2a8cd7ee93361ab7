//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"path"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// defaultShm is the size that container runtimes give /dev/shm by default (OCI runtimes' default: 65536k).
const defaultShm = 64 << 20

// buildDev makes the small /dev of a container: the usual nodes are this machine's, the recorded ones are stand-ins.
func (s *stage) buildDev() error {
	if err := os.MkdirAll(devDir+"/shm", 0o755); err != nil {
		return err
	}
	for _, name := range []string{"null", "zero", "full", "random", "urandom", "tty", "ptmx"} {
		if err := bindNode("/dev/"+name, path.Join(devDir, name)); err != nil && !errors.Is(err, syscall.ENOENT) {
			return err
		}
	}
	for name, target := range map[string]string{
		"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2",
	} {
		if err := os.Symlink(target, path.Join(devDir, name)); err != nil {
			return err
		}
	}
	for _, name := range s.devices {
		if err := s.standIn(name); err != nil {
			return err
		}
	}
	if _, err := os.Stat("/dev/pts"); err == nil {
		if err := os.Mkdir(devDir+"/pts", 0o755); err != nil {
			return err
		}
		if err := bind("/dev/pts", devDir+"/pts"); err != nil {
			s.skip("dev/pts", err)
		}
	}
	if err := bind(devDir, "/dev"); err != nil {
		return err
	}
	return s.mountShm()
}

func (s *stage) mountShm() error {
	size := uint64(defaultShm)
	if s.machine.Probes.ShmBytes != nil {
		if n, err := s.machine.Probes.ShmBytes(); err == nil && n > 0 {
			size = n
		}
	}
	options := "mode=1777,size=" + strconv.FormatUint(size, 10)
	if err := unix.Mount("shm", "/dev/shm", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
		return fmt.Errorf("mount tmpfs on /dev/shm: %w", err)
	}
	return nil
}

// standIn makes a node that opens, or fails to, as the recorded one did. mknod of a device is not for user
// namespaces; binding this machine's /dev/null is.
func (s *stage) standIn(name string) error {
	at := path.Join(stageDir, name)
	if _, err := os.Lstat(at); err == nil { // one of the usual nodes
		return nil
	}
	if err := os.MkdirAll(path.Dir(at), 0o755); err != nil {
		return err
	}
	switch errno := s.openError(name); errno {
	case 0:
		return bindNode("/dev/null", at)
	case syscall.ENOENT:
		return nil
	case syscall.EACCES, syscall.EPERM:
		return forbidden(at)
	case syscall.ENXIO:
		return unix.Mknod(at, unix.S_IFSOCK|0o666, 0)
	default:
		s.skip(name, fmt.Sprintf("opening it gives ENXIO in place of %q", errno))
		return unix.Mknod(at, unix.S_IFSOCK|0o666, 0)
	}
}

// openError returns the recorded error of opening a node, 0 if it opened or was not tried.
func (s *stage) openError(name string) syscall.Errno {
	var errno syscall.Errno
	if s.machine.Probes.OpenDevice != nil {
		errors.As(s.machine.Probes.OpenDevice(name), &errno)
	}
	return errno
}

// forbidden makes a device node that not even root may open: the kernel gives EACCES for devices on a mount with
// nodev (fs/namei.c may_open_dev).
func forbidden(at string) error {
	if err := bindNode("/dev/null", at); err != nil {
		return err
	}
	var st unix.Statfs_t
	if err := unix.Statfs(at, &st); err != nil {
		return err
	}
	// A user namespace must keep the flags that the mount came with; statfs has them under the same numbers.
	const kept = unix.MS_RDONLY | unix.MS_NOSUID | unix.MS_NOEXEC
	flags := uintptr(st.Flags)&kept | unix.MS_NODEV | unix.MS_BIND | unix.MS_REMOUNT
	if err := unix.Mount("", at, "", flags, ""); err != nil {
		return fmt.Errorf("remount %s with nodev: %w", at, err)
	}
	return nil
}

// bindNode binds a device node onto a new file.
func bindNode(from, at string) error {
	if _, err := os.Stat(from); err != nil {
		return err
	}
	if err := os.WriteFile(at, nil, 0o644); err != nil {
		return err
	}
	return bind(from, at)
}
