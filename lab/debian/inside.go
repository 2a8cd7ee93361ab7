package debian

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/railhead/railhead/lab/assets"
)

// NotInside is the exit code of lab/cmd/inside when it does not become the program that it is to.
const NotInside = 125

// ErrNotInside is that no program can have a tree as the root of its files here.
var ErrNotInside = errors.New("a folder cannot be made the root of a program's files")

// Inside runs a program for which the tree is the root of all files, so that whatever it starts is the tree's, too. That
// takes a user namespace or the rights of root; errors.Is(err, ErrNotInside) where neither is to be had.
func (t Tree) Inside(ctx context.Context, argv ...string) error {
	folder, err := os.MkdirTemp("", "inside")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	helper := filepath.Join(folder, "inside")
	if err := assets.BuildOwn(ctx, "./cmd/inside", helper); err != nil {
		return fmt.Errorf("build the helper that changes the root: %w", err)
	}
	if err := os.MkdirAll(t.Path("tmp"), 0o755); err != nil {
		return err
	}
	namespaces := &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
		Pdeathsig:   syscall.SIGKILL,
	}
	inNamespaces := become(ctx, namespaces, append([]string{helper, t.Dir}, argv...))
	if !errors.Is(inNamespaces, ErrNotInside) || os.Getuid() != 0 {
		return inNamespaces
	}
	// Containers often have root's rights to chroot and to make devices, and no namespaces.
	asRoot := &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	err = become(ctx, asRoot, append([]string{helper, "-own-devices", t.Dir}, argv...))
	if errors.Is(err, ErrNotInside) {
		return errors.Join(inNamespaces, err)
	}
	return err
}

// become runs the helper. Where it does not come to the program, the error is ErrNotInside.
func become(ctx context.Context, attr *syscall.SysProcAttr, argv []string) error {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.SysProcAttr = attr
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("%w: %w", ErrNotInside, err)
	}
	err := interrupted(ctx, cmd.Wait())
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && exit.ExitCode() == NotInside:
		return fmt.Errorf("%w: %s", ErrNotInside, lastLines(out.Bytes(), 1))
	case err != nil:
		return fmt.Errorf("%w\n%s", err, lastLines(out.Bytes(), 20))
	}
	return nil
}
