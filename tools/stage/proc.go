//go:build linux

package main

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// ownProc reports whether a path of /proc is about the process or its network namespace, which the command brings.
func ownProc(name string) bool {
	first, _, _ := strings.Cut(name, "/")
	switch first {
	case "self", "thread-self", "net", "mounts":
		return true
	}
	return first != "" && strings.Trim(first, "0123456789") == ""
}

// bindProc binds the recorded files of /proc over the real ones. New names cannot be made there, so that all of
// /proc/driver, where the NVIDIA driver has its folder, is covered by the recorded one.
func (s *stage) bindProc() error {
	const tree = treeDir + "/proc"
	if _, err := os.Stat(tree); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return filepath.WalkDir(tree, func(from string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(from, treeDir+"/")
		switch {
		case name == "proc/driver" && d.IsDir():
			s.bindOver(from, name)
			return fs.SkipDir
		case d.Type().IsRegular():
			s.bindOver(from, name)
		case !d.IsDir():
			s.skip(name, "not a regular file")
		}
		return nil
	})
}

func (s *stage) bindOver(from, name string) {
	info, err := os.Stat(from)
	if err != nil || !info.IsDir() && info.Size() == 0 {
		return // nothing but its existence is known
	}
	here, err := os.Lstat(path.Join("/", name))
	switch {
	case err != nil:
		s.skip(name, reason(err))
	case here.IsDir() != info.IsDir() || here.Mode()&fs.ModeSymlink != 0:
		s.skip(name, "of another kind here")
	default:
		if err := bind(from, "/"+name); err != nil {
			s.skip(name, err)
		}
	}
}
