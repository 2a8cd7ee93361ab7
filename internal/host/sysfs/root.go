package sysfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"syscall"

	"github.com/railhead/railhead/internal/host/replay"
)

// maxFile bounds the bytes read of one file. The kernel's attributes are at most a page; the largest file read whole is
// the routing table of a host.
const maxFile = 256 << 10

var errTooLong = fmt.Errorf("larger than %d KiB", maxFile>>10)

var errNotRegular = errors.New("not a regular file")

// errNoMachine prevents a wrong path from being reported as a machine without RDMA devices.
var errNoMachine = errors.New(
	"not a machine: use a folder with sys and proc, or the output of 'railhead-pod snapshot --raw'")

// Open returns the machine at place: "" or "/" is this one, a folder is a captured root, a file is a recording.
func Open(place string) (Machine, error) {
	if place == "" || place == "/" {
		return live(), nil
	}
	info, err := os.Stat(place)
	if err != nil {
		return Machine{}, err
	}
	if !info.IsDir() {
		m, err := readRecording(place, info.Mode())
		if err != nil {
			err = fmt.Errorf("%s: %w", place, err)
		}
		return m, err
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

func holdsMachine(root fs.FS) bool {
	return slices.ContainsFunc([]string{"sys", "proc", probesFile}, func(name string) bool {
		_, err := fs.Stat(root, name)
		return err == nil
	})
}

// maxRecording bounds a recording. The recording of a host with hundreds of VFs has a few MiB.
const maxRecording = 64 << 20

var errNotRecording = errors.New("neither a folder, a file nor a pipe")

// readRecording reads a file or a pipe. A pipe without a writer is empty.
func readRecording(place string, mode fs.FileMode) (Machine, error) {
	if !mode.IsRegular() && mode&fs.ModeNamedPipe == 0 {
		return Machine{}, errNotRecording
	}
	f, err := os.OpenFile(place, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return Machine{}, errors.Unwrap(err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxRecording+1))
	switch {
	case err != nil:
		return Machine{}, errors.Unwrap(err)
	case len(text) > maxRecording:
		return Machine{}, fmt.Errorf("larger than %d MiB: not a recording", maxRecording>>20)
	}
	archive, err := replay.Parse(string(text))
	if err != nil {
		return Machine{}, err
	}
	if !holdsMachine(archive) {
		return Machine{}, errNoMachine
	}
	return Recorded(archive)
}

// Recorded returns the recorded machine with the answers of its probes.
func Recorded(a *replay.Archive) (Machine, error) {
	probes, err := recordedProbes(a)
	if err != nil {
		return Machine{}, fmt.Errorf("%s: %w", probesFile, err)
	}
	return Machine{Root: a, Probes: probes}, nil
}

// boundedReader is a file system that bounds each read itself and does not wait for pipes.
type boundedReader interface {
	readBounded(name string) (string, error)
}

// finder is a file system with a cheap test for existence and listing of names.
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
