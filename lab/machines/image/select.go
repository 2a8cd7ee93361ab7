package image

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/railhead/railhead/lab/machines/debian"
)

// file is a file of a root file system.
type file struct {
	mode   fs.FileMode
	path   string // the host's file whose content it has
	text   string // its content, where path is ""
	target string // of a link
	device device
}

type device struct{ major, minor uint64 }

// files are the files of a root file system by their names: usr/bin/bash. Folders are only named where they are empty.
type files map[string]file

// library is the folder of all libraries of a tree.
const library = "usr/lib/x86_64-linux-gnu/"

// pick takes the files that match the patterns out of the tree, folders with all that is in them, and where links lead.
func (f files) pick(tree debian.Tree, patterns ...string) error {
	for _, pattern := range patterns {
		found, err := fs.Glob(os.DirFS(tree.Dir), pattern)
		if err != nil {
			return err
		}
		if len(found) == 0 {
			return fmt.Errorf("no %s among the Debian packages", pattern)
		}
		for _, name := range found {
			if err := f.take(tree, name); err != nil {
				return err
			}
		}
	}
	return nil
}

// take adds a file, a link and its target, or a folder.
func (f files) take(tree debian.Tree, name string) error {
	if _, there := f[name]; there {
		return nil
	}
	at := tree.Path(name)
	info, err := os.Lstat(at)
	if err != nil {
		return err
	}
	switch {
	case info.IsDir():
		entries, err := os.ReadDir(at)
		for _, e := range entries {
			err = errors.Join(err, f.take(tree, path.Join(name, e.Name())))
		}
		return err
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := os.Readlink(at)
		if err != nil {
			return err
		}
		f[name] = file{mode: fs.ModeSymlink | 0o777, target: target}
		to := path.Join(path.Dir(name), target)
		if path.IsAbs(target) {
			to = strings.TrimPrefix(target, "/")
		}
		return f.take(tree, to)
	case info.Mode().IsRegular():
		f[name] = file{mode: info.Mode().Perm(), path: at}
	}
	return nil
}

// libraries adds the libraries that the programs and libraries among the files need.
func (f files) libraries(tree debian.Tree) error {
	done := map[string]bool{}
	for {
		var todo []string
		for name, file := range f {
			if file.path != "" && !done[name] {
				todo = append(todo, name)
			}
		}
		if len(todo) == 0 {
			return f.pick(tree, "usr/lib64/ld-linux-x86-64.so.2",
				library+"libgcc_s.so.1") // glibc loads it to end a thread
		}
		for _, name := range todo {
			done[name] = true
			needs, err := needed(f[name].path)
			if err != nil {
				return fmt.Errorf("read what %s needs: %w", name, err)
			}
			for _, n := range needs {
				if err := f.take(tree, library+n); err != nil {
					return fmt.Errorf("library of %s: %w", name, err)
				}
			}
		}
	}
}

// needed are the names of the shared libraries that a program or library says it needs; any other file needs none.
func needed(file string) ([]string, error) {
	f, err := elf.Open(file)
	var no *elf.FormatError
	if errors.As(err, &no) || errors.Is(err, io.EOF) { // EOF: it is shorter than a header
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if f.Type == elf.ET_REL { // a kernel module
		return nil, nil
	}
	return f.ImportedLibraries()
}

// busybox links every name that busybox answers to and no other program has. Names of programs are usr/bin and
// usr/sbin.
func (f files) busybox(applets []string) {
	for _, a := range applets {
		if a == "busybox" || f.has("usr/bin/"+a) || f.has("usr/sbin/"+a) {
			continue
		}
		f["usr/bin/"+a] = file{mode: fs.ModeSymlink | 0o777, target: "busybox"}
	}
}

func (f files) has(name string) bool {
	_, ok := f[name]
	return ok
}

// names are in the order of an archive: a folder precedes its contents. Parent folders are included.
func (f files) names() []string {
	all := map[string]bool{}
	for name := range f {
		for at := name; at != "."; at = path.Dir(at) {
			all[at] = true
		}
	}
	names := make([]string, 0, len(all))
	for name := range all {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// entry is the file of a name that names returned.
func (f files) entry(name string) file {
	if found, ok := f[name]; ok {
		return found
	}
	return file{mode: fs.ModeDir | 0o755}
}

// content returns the bytes of a regular file.
func (f file) content() ([]byte, error) {
	if f.path == "" {
		return []byte(f.text), nil
	}
	return os.ReadFile(f.path)
}
