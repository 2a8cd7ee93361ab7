// Package sysfs reads and records machines: it alone knows paths in /sys and /proc.
package sysfs

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/railhead/railhead/internal/host"
)

// tree is the file tree of a machine, with the problems met in reading it.
type tree struct {
	root     fs.FS
	problems []host.Problem
}

// problem records that an operation on a file failed, and returns the reason without the path.
func (t *tree) problem(name, op string, err error) string {
	why := reason(err)
	t.problems = append(t.problems, host.Problem{Path: "/" + name, Op: op, Err: why})
	return why
}

// reason returns the text of an error without its path, which a Problem has in a field of its own.
func reason(err error) string {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		err = pathErr.Err
	}
	return err.Error()
}

// file reads a file. A file that does not exist is absent, and no Problem.
func (t *tree) file(name string) host.Fact[string] {
	data, err := readBounded(t.root, name)
	switch {
	case err == nil:
		return host.Know(data)
	case isAbsent(err):
		return host.Fact[string]{}
	case errors.Is(err, errTooLong):
		t.problem(name, "read", err)
		return host.Know(data) // the beginning of a long table is still worth reading
	default:
		return host.Unread[string](t.problem(name, "read", err))
	}
}

func isAbsent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// maxAttribute bounds a one-line attribute: a sysfs one is at most a page.
const maxAttribute = 4096

// text reads an attribute of one line, without blanks around it. An empty one is absent.
func (t *tree) text(name string) host.Fact[string] {
	f := t.file(name)
	if !f.IsKnown() {
		return f
	}
	if len(f.Value) > maxAttribute || strings.ContainsRune(f.Value, 0) {
		return host.Unread[string](t.problem(name, "parse", errors.New("not a line of text")))
	}
	if f.Value = strings.TrimSpace(f.Value); f.Value == "" {
		return host.Fact[string]{}
	}
	return f
}

// parsed reads an attribute and parses it; an attribute that does not parse is a Problem.
func parsed[T any](t *tree, name string, parse func(string) (T, error)) host.Fact[T] {
	f := t.text(name)
	if !f.IsKnown() {
		return host.Fact[T]{State: f.State, Why: f.Why}
	}
	v, err := parse(f.Value)
	if err != nil {
		return host.Unread[T](t.problem(name, "parse", err))
	}
	return host.Know(v)
}

// list returns the sorted names in a directory, none if it does not exist.
func (t *tree) list(dir string) []string {
	names, err := listNames(t.root, dir)
	if err != nil && !isAbsent(err) {
		t.problem(dir, "list", err)
	}
	slices.Sort(names)
	return names
}

func listNames(root fs.FS, dir string) ([]string, error) {
	if f, ok := root.(finder); ok {
		return f.names(dir)
	}
	entries, err := fs.ReadDir(root, dir)
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, err
}

// target returns the last element of a link's target, by which sysfs names a driver, a group or a parent.
func (t *tree) target(name string) host.Fact[string] {
	target, err := fs.ReadLink(t.root, name)
	switch {
	case err == nil:
		return host.Know(path.Base(target))
	case isAbsent(err), errors.Is(err, syscall.EINVAL): // EINVAL: a folder in place of the link
		return host.Fact[string]{}
	default:
		return host.Unread[string](t.problem(name, "readlink", err))
	}
}

func (t *tree) exists(name string) bool {
	if f, ok := t.root.(finder); ok {
		return f.exists(name)
	}
	_, err := fs.Stat(t.root, name)
	return err == nil
}

// parseInt reads decimal, or hexadecimal after 0x.
func parseInt(s string) (int, error) {
	n, err := strconv.ParseInt(s, 0, 64)
	if err != nil {
		return 0, fmt.Errorf("%.60q is not a number", s)
	}
	return int(n), nil
}
