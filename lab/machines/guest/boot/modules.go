package boot

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Modules are the modules of one kernel.
type Modules struct {
	folder  string
	depends dependencies
	builtin map[string]bool
	loaded  map[string]bool
}

// dependencies are the files of the modules that a module needs, by its name, in the order in which they are to be
// loaded; the last one is that of the module itself.
type dependencies map[string][]string

// ReadModules reads the files of depmod(8) for the running kernel.
func ReadModules() (*Modules, error) {
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return nil, err
	}
	m := &Modules{
		folder: filepath.Join("/lib/modules", unix.ByteSliceToString(name.Release[:])),
		loaded: map[string]bool{},
	}
	err := m.read("modules.dep", func(r io.Reader) (err error) {
		m.depends, err = parseDependencies(r)
		return err
	})
	if err == nil {
		err = m.read("modules.builtin", func(r io.Reader) (err error) {
			m.builtin, err = parseBuiltin(r)
			return err
		})
	}
	return m, err
}

func (m *Modules) read(name string, parse func(io.Reader) error) error {
	f, err := os.Open(filepath.Join(m.folder, name))
	if err != nil {
		return err
	}
	defer f.Close()
	if err := parse(f); err != nil {
		return fmt.Errorf("read %s: %w", f.Name(), err)
	}
	return nil
}

// parseDependencies reads modules.dep: a line per module, "FILE: FILE...", in which the last file is loaded first
// (modules.dep(5)).
func parseDependencies(r io.Reader) (dependencies, error) {
	d := dependencies{}
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		file, needs, ok := strings.Cut(lines.Text(), ":")
		if !ok {
			return nil, fmt.Errorf("%q: no colon", lines.Text())
		}
		files := strings.Fields(needs)
		slices.Reverse(files)
		d[moduleName(file)] = append(files, file)
	}
	return d, lines.Err()
}

// parseBuiltin reads modules.builtin: a line per module that is part of the kernel.
func parseBuiltin(r io.Reader) (map[string]bool, error) {
	names := map[string]bool{}
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		names[moduleName(lines.Text())] = true
	}
	return names, lines.Err()
}

// moduleName is a module's name: its file's up to the first dot, and the kernel takes "-" for "_".
func moduleName(file string) string {
	name, _, _ := strings.Cut(path.Base(file), ".")
	return strings.ReplaceAll(name, "-", "_")
}

// Load loads modules and their dependencies. A module that is part of the kernel is there; the error of one that the
// machine does not have is fs.ErrNotExist.
func (m *Modules) Load(names ...string) error {
	for _, name := range names {
		if m.builtin[name] {
			continue
		}
		files, ok := m.depends[name]
		if !ok {
			return fmt.Errorf("load module %s: %w", name, fs.ErrNotExist)
		}
		for _, file := range files {
			if err := m.insert(filepath.Join(m.folder, file)); err != nil {
				return err
			}
		}
	}
	return nil
}

// Replace loads a module's dependencies, and the module of file in its place.
func (m *Modules) Replace(name, file string) error {
	files := m.depends[name]
	if files == nil {
		return fmt.Errorf("load what module %s needs: %w", name, fs.ErrNotExist)
	}
	for _, f := range files[:len(files)-1] {
		if err := m.insert(filepath.Join(m.folder, f)); err != nil {
			return err
		}
	}
	return m.insert(file)
}

func (m *Modules) insert(file string) error {
	if m.loaded[file] {
		return nil
	}
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	flags := 0
	if path.Ext(file) != ".ko" {
		flags = unix.MODULE_INIT_COMPRESSED_FILE
	}
	if err := unix.FinitModule(int(f.Fd()), "", flags); err != nil && !errors.Is(err, unix.EEXIST) {
		return fmt.Errorf("load %s: %w", file, err)
	}
	m.loaded[file] = true
	return nil
}
