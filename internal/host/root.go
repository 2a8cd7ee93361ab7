package host

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"syscall"
)

// This file and root_linux.go are where the package touches the machine it runs on.

// maxFile bounds what is read of one file. The kernel's attributes are at most a page; the largest file that is read
// whole is a routing table of a host.
const maxFile = 256 << 10

// errTooLong is a file larger than maxFile.
var errTooLong = fmt.Errorf("larger than %d KiB", maxFile>>10)

var errNotRegular = errors.New("not a regular file")

// errNoMachine is a place named by mistake: an empty machine would be said to have no RDMA device.
var errNoMachine = errors.New("no machine is in it: give a folder with its sys and proc, or what 'railhead-pod snapshot --raw' printed")

// Open returns the machine at place: "" or "/" is this one, a folder is a captured root, a file is an Archive.
func Open(place string) (Machine, error) {
	if place == "" || place == "/" {
		return live(), nil
	}
	info, err := os.Stat(place)
	if err != nil {
		return Machine{}, err
	}
	if !info.IsDir() {
		return openArchive(place, info.Mode())
	}
	root, err := os.OpenRoot(place)
	if err != nil {
		return Machine{}, err
	}
	if !holdsMachine(root.FS()) {
		return Machine{}, fmt.Errorf("%s: %w", place, errNoMachine)
	}
	probes := mounted(place)
	return Machine{Root: root.FS(), Probes: probes, Live: probes.Now != nil}, nil
}

// holdsMachine reports whether anything that was read of a machine can be below root.
func holdsMachine(root fs.FS) bool {
	return slices.ContainsFunc([]string{"sys", "proc", probesFile}, func(name string) bool {
		_, err := fs.Stat(root, name)
		return err == nil
	})
}

// maxArchive bounds a recording: that of a host with hundreds of VFs has a few MiB.
const maxArchive = 64 << 20

var errNotArchive = errors.New("neither a folder, a file nor a pipe")

func openArchive(place string, mode fs.FileMode) (Machine, error) {
	machine, err := readArchive(place, mode)
	if err != nil {
		return Machine{}, fmt.Errorf("%s: %w", place, err)
	}
	return machine, nil
}

// readArchive reads a file, or what another program writes into a pipe; one that nobody writes into is empty.
func readArchive(place string, mode fs.FileMode) (Machine, error) {
	if !mode.IsRegular() && mode&fs.ModeNamedPipe == 0 {
		return Machine{}, errNotArchive
	}
	f, err := os.OpenFile(place, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return Machine{}, errors.Unwrap(err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxArchive+1))
	switch {
	case err != nil:
		return Machine{}, errors.Unwrap(err)
	case len(text) > maxArchive:
		return Machine{}, fmt.Errorf("larger than %d MiB, which no recording is", maxArchive>>20)
	}
	archive, err := ParseArchive(string(text))
	if err != nil {
		return Machine{}, err
	}
	if !holdsMachine(archive) {
		return Machine{}, errNoMachine
	}
	return archive.Machine()
}

// Machine returns the recorded machine with what its probes said.
func (a *Archive) Machine() (Machine, error) {
	probes, err := recordedProbes(a)
	if err != nil {
		return Machine{}, fmt.Errorf("%s: %w", probesFile, err)
	}
	return Machine{Root: a, Probes: probes}, nil
}

// boundedReader is a file system that itself bounds what it reads and does not wait for pipes.
type boundedReader interface {
	readBounded(name string) (string, error)
}

// finder is a file system that tells cheaply what is there.
type finder interface {
	exists(name string) bool
	names(dir string) ([]string, error) // in no order
}

// readBounded reads at most maxFile bytes of a regular file.
func readBounded(root fs.FS, name string) (string, error) {
	if r, ok := root.(boundedReader); ok {
		return r.readBounded(name)
	}
	info, err := fs.Stat(root, name)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", &fs.PathError{Op: "read", Path: name, Err: errNotRegular}
	}
	f, err := root.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if len(data) > maxFile {
		return string(data[:maxFile]), &fs.PathError{Op: "read", Path: name, Err: errTooLong}
	}
	return string(data), err
}
