// Package rxe builds the lab's Soft-RoCE: the kernel's own driver rdma_rxe with the patches of this folder, by which
// its devices are where those of hardware are, and stay with their netdev in a pod.
//
// The patches change files of Linux and are under their licence, GPL-2.0 (LICENSE in this folder).
package rxe

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/railhead/railhead/lab/controlplane/assets"
	"github.com/railhead/railhead/lab/machines/debian"
)

// Module is the file of the module. Its name within the kernel is rdma_rxe, so the kernel's own cannot be loaded
// next to it.
const Module = "rdma_rxe_lab.ko"

// recipe of the build from a kernel. It is part of the module's key in the cache.
//
//go:embed rxe.go source.go compiler.go *.patch
var recipe embed.FS

// Build returns the file of the module for the kernel of the tree, and builds it first if it is not in the cache. The
// tree has linux-image, linux-headers and linux-source of one version, gcc, make, patch and xz.
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
		Name:  "machine/rxe",
		What:  "the patched Soft-RoCE module for Linux " + release,
		Key:   key,
		First: 30 * time.Second,
		Make: func(ctx context.Context, folder string) error {
			b := build{kernel: kernel, release: release, folder: filepath.Join(folder, "build")}
			defer os.RemoveAll(b.folder)
			return b.into(ctx, filepath.Join(folder, Module))
		},
	}.Path(ctx, progress)
	return filepath.Join(folder, Module), err
}

// build is one build of the module.
type build struct {
	kernel  debian.Tree
	release string
	folder  string // for whatever is written on the way
}

// sources is the driver's folder in the source of Linux and, relative to the build folder, after unpacking.
const sources = "drivers/infiniband/sw/rxe"

// into builds the module into a file.
func (b build) into(ctx context.Context, file string) error {
	if err := b.unpack(ctx); err != nil {
		return fmt.Errorf("unpack the source: %w", err)
	}
	if err := b.patch(ctx); err != nil {
		return err
	}
	if err := b.compiler(); err != nil {
		return fmt.Errorf("prepare the compiler: %w", err)
	}
	if err := b.compile(ctx); err != nil {
		return fmt.Errorf("compile: %w", err)
	}
	return os.Rename(filepath.Join(b.folder, sources, "rdma_rxe.ko"), file)
}
