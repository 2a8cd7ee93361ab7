package rxe

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/railhead/railhead/lab/machines/debian"
)

// unpack takes the driver out of the source of the kernel.
func (b build) unpack(ctx context.Context) error {
	found, err := filepath.Glob(b.kernel.Path("usr/src/linux-source-*.tar.xz"))
	if err != nil {
		return err
	}
	if len(found) != 1 {
		return fmt.Errorf("one archive is wanted in %s, found %q: %w", b.kernel.Path("usr/src"), found, fs.ErrNotExist)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	xz := b.kernel.Command(ctx, "usr/bin/xz", "--decompress", "--stdout", "--threads=0", found[0])
	out, err := xz.StdoutPipe()
	if err != nil {
		return err
	}
	if err := xz.Start(); err != nil {
		return err
	}
	err = extract(out, b.folder)
	cancel() // the driver is in the middle of the archive: xz has more to say than anyone wants to hear
	_ = xz.Wait()
	return err
}

// extract writes the driver's files in a tar archive of the whole source, and stops behind them.
func extract(r io.Reader, folder string) error {
	seen := false
	for t := tar.NewReader(r); ; {
		h, err := t.Next()
		if errors.Is(err, io.EOF) && seen {
			return nil
		}
		if err != nil {
			return fmt.Errorf("look for %s: %w", sources, err)
		}
		_, name, _ := strings.Cut(h.Name, "/") // behind linux-source-6.12
		in := strings.HasPrefix(name, sources+"/")
		if seen && !in {
			return nil
		}
		if seen = in; !in || h.Typeflag != tar.TypeReg {
			continue
		}
		content, err := io.ReadAll(t)
		if err != nil {
			return err
		}
		if err := write(filepath.Join(folder, path.Clean("/"+name)), content, 0o644); err != nil {
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
		if err := debian.Run(ctx, cmd); err != nil {
			return fmt.Errorf("apply %s to the source of Linux %s: %w", p, b.release, err)
		}
	}
	return nil
}

// write writes a file, and makes the folder for it.
func write(path string, content []byte, perm fs.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, content, perm)
}
