package image

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/klauspost/compress/zstd"
	"github.com/u-root/u-root/pkg/cpio"
)

// writeInitramfs writes files, owned by root, to an archive for the kernel: a compressed cpio archive in the format
// newc, filled up to a multiple of four bytes, where the kernel expects the next one
// (Documentation/driver-api/early-userspace/buffer-format.rst).
func writeInitramfs(path string, all files) error {
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	defer out.Close()
	z, err := zstd.NewWriter(out)
	if err != nil {
		return err
	}
	w := cpio.Newc.Writer(z)
	for _, name := range all.names() {
		r, err := record(name, all.entry(name))
		if err == nil {
			err = w.WriteRecord(r)
		}
		if err != nil {
			return fmt.Errorf("archive %s: %w", name, err)
		}
	}
	if err := errors.Join(cpio.WriteTrailer(w), z.Close()); err != nil {
		return err
	}
	size, err := out.Seek(0, io.SeekCurrent)
	if err != nil {
		return err
	}
	return errors.Join(out.Truncate((size+3)&^3), out.Close())
}

func record(name string, f file) (cpio.Record, error) {
	perm := f.permissions()
	switch f.mode.Type() {
	case fs.ModeDir:
		return cpio.Directory(name, perm), nil
	case fs.ModeSymlink:
		return cpio.Symlink(name, f.target), nil
	case fs.ModeDevice | fs.ModeCharDevice:
		return cpio.CharDev(name, perm, f.device.major, f.device.minor), nil
	}
	content, err := f.content()
	return cpio.StaticFile(name, string(content), perm), err
}

// permissions returns the mode as an archive has it, with the sticky bit.
func (f file) permissions() uint64 {
	perm := uint64(f.mode.Perm())
	if f.mode&fs.ModeSticky != 0 {
		perm |= 0o1000
	}
	return perm
}

// writeLayer writes files, owned by root, to a tar archive: a layer of an image.
func writeLayer(w io.Writer, all files) error {
	t := tar.NewWriter(w)
	for _, name := range all.names() {
		if err := addToLayer(t, name, all.entry(name)); err != nil {
			return fmt.Errorf("archive %s: %w", name, err)
		}
	}
	return t.Close()
}

func addToLayer(t *tar.Writer, name string, f file) error {
	h := &tar.Header{Name: name, Mode: int64(f.permissions()), Typeflag: tar.TypeReg}
	var content []byte
	switch f.mode.Type() {
	case fs.ModeDir:
		h.Typeflag, h.Name = tar.TypeDir, name+"/"
	case fs.ModeSymlink:
		h.Typeflag, h.Linkname = tar.TypeSymlink, f.target
	default:
		var err error
		if content, err = f.content(); err != nil {
			return err
		}
		h.Size = int64(len(content))
	}
	if err := t.WriteHeader(h); err != nil {
		return err
	}
	_, err := t.Write(content)
	return err
}
