// Command inside becomes another program, for which a folder is the root of all files:
//
//	inside [-own-devices] FOLDER PROGRAM [ARGUMENT...]
//
// It wants to be started in a mount namespace of its own, in which it may mount. With -own-devices it mounts nothing and
// makes the few devices that programs want, which needs the rights of root.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/railhead/railhead/lab/debian"
)

func main() {
	own := flag.Bool("own-devices", false, "make devices in FOLDER instead of mounting the host's")
	flag.Parse()
	prepare := mountDevices
	if *own {
		prepare = makeDevices
	}
	folder := flag.Arg(0)
	err := prepare(folder)
	if err == nil {
		err = become(folder, flag.Args()[1:])
	}
	fmt.Fprintf(os.Stderr, "inside %s: %v\n", folder, err)
	os.Exit(debian.NotInside)
}

// mountDevices shows the host's devices and processes in the folder.
func mountDevices(folder string) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("keep mounts from the host: %w", err)
	}
	for _, name := range []string{"dev", "proc"} {
		at := filepath.Join(folder, name)
		if err := os.MkdirAll(at, 0o755); err != nil {
			return err
		}
		if err := unix.Mount("/"+name, at, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
			return fmt.Errorf("mount /%s: %w", name, err)
		}
	}
	return nil
}

// makeDevices makes null and zero.
func makeDevices(folder string) error {
	if err := os.MkdirAll(filepath.Join(folder, "dev"), 0o755); err != nil {
		return err
	}
	for name, minor := range map[string]uint32{"null": 3, "zero": 5} {
		err := unix.Mknod(filepath.Join(folder, "dev", name), unix.S_IFCHR|0o666, int(unix.Mkdev(1, minor)))
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("make /dev/%s: %w", name, err)
		}
	}
	return nil
}

func become(folder string, argv []string) error {
	if err := unix.Chroot(folder); err != nil {
		return fmt.Errorf("chroot: %w", err)
	}
	if err := os.Chdir("/"); err != nil {
		return err
	}
	env := []string{"PATH=/usr/bin:/usr/sbin", "HOME=/", "LC_ALL=C", "TMPDIR=/tmp"}
	return fmt.Errorf("start %s: %w", argv[0], unix.Exec(argv[0], argv, env))
}
