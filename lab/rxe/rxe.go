// Package rxe builds the lab's Soft-RoCE: the kernel's own driver rdma_rxe with the patches of this folder, by which its
// devices are where those of hardware are, and stay with their netdev in a pod.
//
// The patches change files of Linux and are under their licence, GPL-2.0 (LICENSE in this folder).
package rxe

import (
	"archive/tar"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/railhead/railhead/lab/assets"
	"github.com/railhead/railhead/lab/debian"
)

// Module is the file of the module. Its name within the kernel is rdma_rxe, so that one cannot be loaded beside it.
const Module = "rdma_rxe_lab.ko"

// recipe decides what is built from a kernel.
//
//go:embed rxe.go *.patch
var recipe embed.FS

// sources is where the driver is in the source of Linux.
const sources = "drivers/infiniband/sw/rxe"

// Build returns the file of the module for the kernel of the tree, and builds it first if it is not in the cache. The tree
// has linux-image, linux-headers and linux-source of the same version, and a compiler.
func Build(ctx context.Context, progress func(string), kernel debian.Tree, release string) (string, error) {
	key := append([]string{release}, kernel.Versions...)
	files, err := fs.Glob(recipe, "*")
	if err != nil {
		return "", err
	}
	for _, f := range files {
		text, err := recipe.ReadFile(f)
		if err != nil {
			return "", err
		}
		key = append(key, string(text))
	}
	folder, err := assets.Folder{
		Name: "machine/rxe", What: "the patched Soft-RoCE module for Linux " + release, Key: key, First: time.Minute,
		Make: func(ctx context.Context, folder string) error {
			b := build{kernel: kernel, release: release, folder: kernel.Path(workFolder)}
			defer os.RemoveAll(b.folder)
			return b.into(ctx, filepath.Join(folder, Module))
		},
	}.Path(ctx, progress)
	return filepath.Join(folder, Module), err
}

// workFolder is where in the tree the driver is built; whoever makes the module owns it.
const workFolder = "rxe"

type build struct {
	kernel  debian.Tree
	release string
	folder  string // the host's name of workFolder
}

// into builds the module into a file.
func (b build) into(ctx context.Context, file string) error {
	if err := os.RemoveAll(b.folder); err != nil {
		return err
	}
	if err := b.unpack(ctx); err != nil {
		return fmt.Errorf("unpack the source: %w", err)
	}
	if err := b.patch(ctx); err != nil {
		return err
	}
	if err := b.applets(ctx); err != nil {
		return err
	}
	at := path.Join("/", workFolder, sources)
	make := []string{
		"/usr/bin/make", "-C", "/usr/src/linux-headers-" + b.release, "M=" + at, "CONFIG_RDMA_RXE=m",
		"CONFIG_DEBUG_INFO_BTF_MODULES=", // the kernel's own BTF is not among the packages
		"modules",
	}
	err := b.kernel.Inside(ctx, make...)
	if err == nil {
		err = b.kernel.Inside(ctx, "/usr/bin/strip", "--strip-debug", at+"/rdma_rxe.ko")
	}
	if errors.Is(err, debian.ErrNotInside) {
		return fmt.Errorf("run the kernel's compiler: %w; %s", err, wayOut)
	}
	if err != nil {
		return fmt.Errorf("compile: %w", err)
	}
	return os.Rename(filepath.Join(b.folder, sources, "rdma_rxe.ko"), file)
}

const wayOut = "allow user namespaces (sysctl user.max_user_namespaces=10000 kernel.apparmor_restrict_unprivileged_userns=0;" +
	" in a container, --privileged or --security-opt seccomp=unconfined), or run as root"

// unpack takes the driver out of the source of the kernel.
func (b build) unpack(ctx context.Context) error {
	found, err := filepath.Glob(b.kernel.Path("usr/src/linux-source-*.tar.xz"))
	if err != nil {
		return err
	}
	if len(found) != 1 {
		return fmt.Errorf("one archive is wanted in %s, found %q", b.kernel.Path("usr/src"), found)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends xz behind the driver, in the middle of the archive
	xz := b.kernel.Command(ctx, "usr/bin/xz", "--decompress", "--stdout", "--threads=0", found[0])
	out, err := xz.StdoutPipe()
	if err != nil {
		return err
	}
	if err := xz.Start(); err != nil {
		return err
	}
	err = extract(out, b.folder)
	cancel()
	_ = xz.Wait() // its end is ours
	return err
}

// extract writes the driver's files in a tar archive of the whole source, and stops behind them.
func extract(r io.Reader, folder string) error {
	seen := false
	for t := tar.NewReader(r); ; {
		h, err := t.Next()
		if err != nil {
			return fmt.Errorf("look for %s: %w", sources, err)
		}
		_, name, _ := strings.Cut(h.Name, "/") // linux-source-6.12/
		in := strings.HasPrefix(name, sources+"/")
		if seen && !in {
			return nil
		}
		if seen = in; !in || h.Typeflag != tar.TypeReg {
			continue
		}
		to := filepath.Join(folder, filepath.FromSlash(path.Clean("/"+name)))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		content, err := io.ReadAll(t)
		if err != nil {
			return err
		}
		if err := os.WriteFile(to, content, 0o644); err != nil {
			return err
		}
	}
}

// patch applies the patches in the order of their names.
func (b build) patch(ctx context.Context) error {
	patches, err := fs.Glob(recipe, "*.patch")
	if err != nil {
		return err
	}
	for _, p := range patches {
		text, err := recipe.ReadFile(p)
		if err != nil {
			return err
		}
		cmd := b.kernel.Command(ctx, "usr/bin/patch", "--strip=1", "--batch", "--directory", b.folder)
		cmd.Stdin = strings.NewReader(string(text))
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("apply %s to the source of Linux %s: %w\n%s", p, b.release, err, out)
		}
	}
	return nil
}

// applets links the names of busybox that the kernel's makefiles call, and no package of the tree has.
func (b build) applets(ctx context.Context) error {
	out, err := b.kernel.Command(ctx, "usr/bin/busybox", "--list").Output()
	if err != nil {
		return fmt.Errorf("list the applets of busybox: %w", err)
	}
	for _, a := range strings.Fields(string(out)) {
		if _, err := os.Lstat(b.kernel.Path("usr/sbin/" + a)); err == nil {
			continue
		}
		if err := os.Symlink("busybox", b.kernel.Path("usr/bin/"+a)); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}
