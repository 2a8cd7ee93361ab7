package image

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/railhead/railhead/lab/controlplane/assets"
	"github.com/railhead/railhead/lab/machines/debian"
	"github.com/railhead/railhead/lab/machines/rxe"
)

// Build returns the parts, and makes those first that are not in the cache: from nothing that takes minutes, afterwards
// milliseconds. It gives progress a line before and after whatever takes long; progress may be nil.
func Build(ctx context.Context, progress func(line string)) (Parts, error) {
	if progress == nil {
		progress = func(string) {}
	}
	if err := runsOn(runtime.GOOS, runtime.GOARCH); err != nil {
		return Parts{}, err
	}
	if err := assets.Use(ctx, progress); err != nil {
		return Parts{}, err
	}
	q, err := qemu(ctx, progress)
	if err != nil {
		return Parts{}, err
	}
	kernel, err := kernel().Tree(ctx, progress)
	if err != nil {
		return Parts{}, err
	}
	system, err := system().Tree(ctx, progress)
	if err != nil {
		return Parts{}, err
	}
	mpi, err := mpi().Tree(ctx, progress)
	if err != nil {
		return Parts{}, err
	}
	p, err := assemble(ctx, progress, kernel, system, mpi)
	if err != nil {
		return Parts{}, err
	}
	p.QEMU, p.QEMUEnv, p.Versions["QEMU"] = q.argv, q.env, q.version
	p.From = append(p.From, q.argv[0])
	return p, nil
}

// runsOn returns an error if the host cannot run the lab's machines.
func runsOn(system, architecture string) error {
	if system != "linux" || architecture != "amd64" {
		return fmt.Errorf("the lab's machines need Linux on x86-64 (linux/amd64), and this is %s/%s", system,
			architecture)
	}
	return nil
}

// assemble makes the boot files and the shared folder from Debian's files.
func assemble(ctx context.Context, progress func(string), kernel, system, mpi debian.Tree) (Parts, error) {
	release, err := kernelRelease(kernel)
	if err != nil {
		return Parts{}, err
	}
	p := Parts{
		Kernel: kernel.Path("boot/vmlinuz-" + release), KernelRelease: release,
		Versions: map[string]string{"Linux": release},
	}
	for _, name := range []string{"crun", "rdma-core", "perftest"} {
		p.Versions[name] = system.Version(name)
	}
	if p.Base, err = makeBase(ctx, progress, system, kernel, release); err != nil {
		return Parts{}, err
	}
	module, err := rxe.Build(ctx, progress, kernel, release)
	if err != nil {
		return Parts{}, err
	}
	p.Programs, err = makePrograms(ctx, progress, system, mpi, module)
	p.From = []string{kernel.Dir, system.Dir, mpi.Dir, p.Base, module, p.Programs}
	return p, err
}

// kernelRelease is the release of the one kernel in the tree.
func kernelRelease(tree debian.Tree) (string, error) {
	found, err := filepath.Glob(tree.Path("boot/vmlinuz-*"))
	if err != nil {
		return "", err
	}
	if len(found) != 1 {
		return "", fmt.Errorf("one kernel is wanted in %s, found %q: %w", tree.Path("boot"), found, os.ErrNotExist)
	}
	return strings.TrimPrefix(filepath.Base(found[0]), "vmlinuz-"), nil
}
