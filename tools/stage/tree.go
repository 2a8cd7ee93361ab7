//go:build linux

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// writeTree writes the recorded files to treeDir and notes the device nodes.
func (s *stage) writeTree() error {
	return fs.WalkDir(s.machine.Root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			if name == "." {
				return err
			}
			s.skip(name, reason(err))
			return nil
		}
		top, rest, _ := strings.Cut(name, "/")
		switch {
		case name == "." || name == "probes.json":
			return nil
		case top == "dev":
			if !d.IsDir() && !strings.HasPrefix(rest, "shm/") {
				s.devices = append(s.devices, name)
			}
			return nil
		case top == "proc" && ownProc(rest):
			return nil
		case top == "sys" || top == "proc" || top == "run":
			return s.write(name, path.Join(treeDir, name), d)
		default:
			return s.writeHostFile(name, d)
		}
	})
}

// writeHostFile writes a file that lies among this machine's own. Links of this machine above it are followed, as
// opening the path would: /var/run is /run.
func (s *stage) writeHostFile(name string, d fs.DirEntry) error {
	at := strings.TrimPrefix(realPath("/"+name), "/")
	top, _, below := strings.Cut(at, "/")
	same, replaces := s.compare(name, at, d)
	switch {
	case same || top == "run" && !below:
		return nil
	case top == "sys" || top == "proc" || top == "dev":
		s.skip(name, "a link leads it to /"+at)
		return nil
	case !below && !d.IsDir():
		s.skip(name, "files in the root folder are not staged")
		return nil
	case !replaces:
		s.skip(name, "of another kind here")
		return nil
	}
	return s.write(name, path.Join(treeDir, at), d)
}

// compare reports whether this machine's file serves as the recorded one, otherwise whether that may replace it.
func (s *stage) compare(name, at string, d fs.DirEntry) (same, replaces bool) {
	stat := os.Lstat
	if d.IsDir() {
		stat = os.Stat // files below a folder are looked up through a link in its place
	}
	info, err := stat("/" + at)
	if err != nil {
		return false, true
	}
	switch {
	case d.IsDir() || info.IsDir():
		return d.IsDir() == info.IsDir(), false
	case d.Type()&fs.ModeSymlink != 0:
		here, _ := os.Readlink("/" + at)
		recorded, err := fs.ReadLink(s.machine.Root, name)
		return err == nil && here == recorded, true
	default:
		content, err := fs.ReadFile(s.machine.Root, name)
		return err != nil || len(content) == 0, true
	}
}

// realPath follows the links in all but the last element, as far as the folders exist.
func realPath(name string) string {
	dir, last := path.Split(name)
	missing := ""
	for dir = path.Clean(dir); ; dir = path.Dir(dir) {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			return path.Join(real, missing, last)
		}
		missing = path.Join(path.Base(dir), missing)
	}
}

func (s *stage) write(name, to string, d fs.DirEntry) error {
	if d.IsDir() {
		return mkdirLike(to)
	}
	if err := mkdirLike(path.Dir(to)); err != nil {
		return err
	}
	if d.Type()&fs.ModeSymlink != 0 {
		target, err := fs.ReadLink(s.machine.Root, name)
		if err != nil {
			return err
		}
		return os.Symlink(target, to)
	}
	content, err := fs.ReadFile(s.machine.Root, name)
	if err != nil {
		content = nil // an error of the recorded machine: an empty file
	}
	return os.WriteFile(to, content, 0o644)
}

// mkdirLike makes a folder of treeDir and those above it with the modes of this machine's: in an overlay the upper
// folder's mode counts.
func mkdirLike(dir string) error {
	if dir == treeDir {
		return os.MkdirAll(dir, 0o755)
	}
	if _, err := os.Lstat(dir); err == nil {
		return nil
	}
	if err := mkdirLike(path.Dir(dir)); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	if here, err := os.Stat(strings.TrimPrefix(dir, treeDir)); err == nil && here.IsDir() {
		return os.Chmod(dir, here.Mode()&(fs.ModePerm|fs.ModeSticky))
	}
	return nil
}

// overlay mounts the remaining files of treeDir over this machine's folders.
func (s *stage) overlay() error {
	tops, err := os.ReadDir(treeDir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, top := range tops {
		name := top.Name()
		if name == "sys" || name == "proc" || name == "run" {
			continue
		}
		work := path.Join(workDir, name)
		if err := os.MkdirAll(work, 0o755); err != nil {
			return err
		}
		// Without the privileges that trusted.* attributes need, userxattr is the form that is allowed
		// (Documentation/filesystems/overlayfs.rst).
		how := fmt.Sprintf("userxattr,lowerdir=/%s,upperdir=%s/%s,workdir=%s", name, treeDir, name, work)
		if err := unix.Mount("overlay", "/"+name, "overlay", 0, how); err != nil {
			s.skip(name, fmt.Sprintf("no overlay over the folder: %v", err))
		}
	}
	return nil
}

func reason(err error) error {
	if pathErr := (*fs.PathError)(nil); errors.As(err, &pathErr) {
		return pathErr.Err
	}
	return err
}
