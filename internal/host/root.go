package host

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// This file and root_linux.go are where the package touches the machine it runs on.

// maxFile bounds what is read of one file. The kernel's attributes are at most a page; the largest file that is read
// whole is a routing table of a host.
const maxFile = 256 << 10

// errTooLong is a file larger than maxFile.
var errTooLong = fmt.Errorf("larger than %d KiB", maxFile>>10)

var errNotRegular = errors.New("not a regular file")

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
		return openArchive(place)
	}
	root, err := os.OpenRoot(place)
	if err != nil {
		return Machine{}, err
	}
	return Machine{Root: root.FS()}, nil
}

func openArchive(place string) (Machine, error) {
	text, err := os.ReadFile(place)
	if err != nil {
		return Machine{}, err
	}
	archive, err := ParseArchive(string(text))
	if err != nil {
		return Machine{}, fmt.Errorf("%s: %w", place, err)
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
