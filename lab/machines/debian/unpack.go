package debian

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Unpack unpacks package archives into a folder, which it makes. Files are the caller's own, device nodes are left
// out, and no script of a package runs. Only files for which keep returns true are unpacked; names are as
// usr/bin/bash.
func Unpack(ctx context.Context, archives []string, folder string, keep func(name string) bool) error {
	for _, merged := range mergedFolders() {
		if err := os.MkdirAll(filepath.Join(folder, "usr", merged), 0o755); err != nil {
			return err
		}
		if err := os.Symlink("usr/"+merged, filepath.Join(folder, merged)); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, a := range archives {
		if err := unpack(ctx, a, root, keep); err != nil {
			return fmt.Errorf("unpack %s: %w", filepath.Base(a), err)
		}
	}
	return nil
}

// mergedFolders are links into usr on every Debian since 12 (https://wiki.debian.org/UsrMerge), yet archives may have
// them as folders.
func mergedFolders() []string { return []string{"bin", "sbin", "lib", "lib64"} }

// unpack unpacks one archive: dpkg-deb, which comes with every apt-get, knows all its formats.
func unpack(ctx context.Context, archive string, root *os.Root, keep func(string) bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends dpkg-deb where the rest of the archive is not wanted
	cmd := exec.CommandContext(ctx, "dpkg-deb", "--fsys-tarfile", archive)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	if err := extract(out, root, keep); err != nil {
		cancel()
		return errors.Join(err, ignoreExit(cmd.Wait()))
	}
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("dpkg-deb: %w\n%s", err, lastLines(stderr.Bytes(), 5))
	}
	return nil
}

// ignoreExit drops how a program ended that was not to go on.
func ignoreExit(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) || errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// extract writes the files of a tar archive for which keep returns true. It reads the archive to its end.
func extract(r io.Reader, root *os.Root, keep func(string) bool) error {
	t := tar.NewReader(r)
	for {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			_, err := io.Copy(io.Discard, r) // the padding, for the writer's sake
			return err
		}
		if err != nil {
			return err
		}
		name := merged(h.Name)
		if name == "." || slices.Contains(mergedFolders(), path.Clean(h.Name)) || !keep(name) {
			continue
		}
		if err := write(root, name, h, t); err != nil {
			return err
		}
	}
}

// merged is the name of a file of an archive, where the links of mergedFolders lead.
func merged(name string) string {
	name = path.Clean(strings.TrimPrefix(name, "/"))
	if first, _, _ := strings.Cut(name, "/"); slices.Contains(mergedFolders(), first) {
		return "usr/" + name
	}
	return name
}

func write(root *os.Root, name string, h *tar.Header, content io.Reader) error {
	mode := fs.FileMode(h.Mode).Perm()
	if h.Typeflag == tar.TypeDir {
		return root.MkdirAll(name, mode|0o700)
	}
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	switch h.Typeflag {
	case tar.TypeSymlink:
		return root.Symlink(h.Linkname, name)
	case tar.TypeLink:
		return root.Link(merged(h.Linkname), name)
	case tar.TypeReg:
		f, err := root.OpenFile(name, os.O_CREATE|os.O_WRONLY, mode|0o600)
		if err != nil {
			return err
		}
		_, err = io.Copy(f, content)
		return errors.Join(err, f.Close())
	}
	return nil
}
