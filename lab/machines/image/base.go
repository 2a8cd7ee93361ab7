package image

import (
	"context"
	"embed"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/railhead/railhead/lab/controlplane/assets"
	"github.com/railhead/railhead/lab/machines/debian"
)

// baseSources are the sources of the root file system and part of its key in the cache.
//
//go:embed base.go modules.go select.go archive.go
var baseSources embed.FS

// basePrograms lists the programs for people and tests in the machines. busybox answers to all other names.
func basePrograms() []string {
	return append(programs(
		"busybox", "bash", "strace", "tcpdump",
		// modules and mounts; the kubelet wants a real mount(8)
		"kmod", "modprobe", "insmod", "rmmod", "lsmod", "modinfo", "depmod", "mount", "umount", "findmnt", "lsblk",
		// limits, rights and namespaces
		"prlimit", "setpriv", "nsenter", "unshare", "lsns", "capsh", "getpcaps",
		// networks and cards
		"ip", "tc", "ss", "bridge", "devlink", "ping", "iperf3", "ethtool", "nft", "lspci", "setpci",
	), "usr/share/iproute2", library+"tc", "usr/share/misc/pci.ids")
}

// rdmaPrograms lists the RDMA programs for machines and pods.
func rdmaPrograms() []string {
	return append(
		programs("rdma", "ibv_*", "ib_*", "rping", "ibstat"),
		// What libibverbs loads for a device, and the files by which it knows.
		library+"libibverbs/librxe*",
		library+"libibverbs/libmlx5*",
		"etc/libibverbs.d/rxe.driver",
		"etc/libibverbs.d/mlx5.driver",
	)
}

// programs are the patterns of programs: which of the two folders one is in differs between releases.
func programs(names ...string) []string {
	var patterns []string
	for _, n := range names {
		patterns = append(patterns, "usr/*bin/"+n)
	}
	return patterns
}

// makeBase returns the file of the machines' root file system.
func makeBase(ctx context.Context, progress func(string), system, kernel debian.Tree, release string) (string, error) {
	key, err := key(baseSources, system, kernel)
	if err != nil {
		return "", err
	}
	const name = "base.cpio.zst"
	folder, err := assets.Folder{
		Name: "machine/base", What: "the machines' root file system", Key: key, First: 15 * time.Second,
		Make: func(ctx context.Context, folder string) error {
			modules := filepath.Join(folder, "modules")
			defer os.RemoveAll(modules)
			all := skeleton()
			if err := kernelModules(ctx, kernel, release, modules, all); err != nil {
				return fmt.Errorf("choose kernel modules: %w", err)
			}
			if err := all.userland(ctx, system); err != nil {
				return err
			}
			return writeInitramfs(filepath.Join(folder, name), all)
		},
	}.Path(ctx, progress)
	return filepath.Join(folder, name), err
}

// userland takes the machines' programs.
func (f files) userland(ctx context.Context, system debian.Tree) error {
	if err := f.pick(system, append(basePrograms(), rdmaPrograms()...)...); err != nil {
		return err
	}
	// What starts containers is in the machines' share, and its libraries are here.
	shared := files{}
	if err := shared.pick(system, starter); err != nil {
		return err
	}
	if err := shared.libraries(system); err != nil {
		return err
	}
	for name, file := range shared {
		if strings.HasPrefix(name, library) {
			f[name] = file
		}
	}
	if err := f.libraries(system); err != nil {
		return err
	}
	return f.applets(ctx, system)
}

// applets links the names that busybox answers to.
func (f files) applets(ctx context.Context, system debian.Tree) error {
	out, err := system.Command(ctx, "usr/bin/busybox", "--list").Output()
	if err != nil {
		return fmt.Errorf("list the applets of busybox: %w", err)
	}
	f.busybox(strings.Fields(string(out)))
	return nil
}

// skeleton are the folders, links and small files of a root file system.
func skeleton() files {
	f := files{
		"tmp":         {mode: fs.ModeDir | fs.ModeSticky | 0o777},
		"root":        {mode: fs.ModeDir | 0o700},
		"dev/console": {mode: fs.ModeDevice | fs.ModeCharDevice | 0o600, device: device{5, 1}},
		"dev/null":    {mode: fs.ModeDevice | fs.ModeCharDevice | 0o666, device: device{1, 3}},
		"etc/hosts":   {mode: 0o644, text: "127.0.0.1 localhost\n::1 localhost\n"},
		"etc/passwd": {
			mode: 0o644,
			text: "root:x:0:0:root:/root:/bin/bash\nuser:x:1000:1000:user:/tmp:/bin/bash\n",
		},
		"etc/group":         {mode: 0o644, text: "root:x:0:\nuser:x:1000:\n"},
		"etc/nsswitch.conf": {mode: 0o644, text: "passwd: files\ngroup: files\nhosts: files dns\n"},
	}
	for _, folder := range []string{"proc", "sys", "run", "mnt", "lab", "var/lib", "var/log", "var/tmp", "opt"} {
		f[folder] = file{mode: fs.ModeDir | 0o755}
	}
	for _, folder := range []string{"bin", "sbin", "lib", "lib64"} {
		f[folder] = file{mode: fs.ModeSymlink | 0o777, target: "usr/" + folder}
	}
	return f
}

// key identifies the result of the sources applied to the trees.
func key(sources embed.FS, trees ...debian.Tree) ([]string, error) {
	var key []string
	for _, t := range trees {
		key = append(key, t.Versions...)
	}
	err := fs.WalkDir(sources, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := sources.ReadFile(name)
		key = append(key, string(text))
		return err
	})
	return key, err
}

// copyFile copies a file, and makes the folder for it.
func copyFile(from, to string, perm fs.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, perm)
	if err != nil {
		return err
	}
	defer out.Close()
	if _, err := io.Copy(out, in); err != nil {
		return err
	}
	return out.Close()
}
