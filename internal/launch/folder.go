package launch

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
)

// Folder keeps the output of a launch, in files of its own for each rank. A nil Folder keeps nothing.
type Folder struct {
	dir   string
	mu    sync.Mutex
	files map[string]*os.File
	err   error // the first that kept something from being written
}

// NewFolder creates a folder, or takes an empty one: it never mixes two runs.
func NewFolder(dir string) (*Folder, error) {
	if dir == "" {
		return nil, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("--log-dir: %w", err)
	}
	entries, err := os.ReadDir(dir)
	switch {
	case err != nil:
		return nil, fmt.Errorf("--log-dir: %w", err)
	case len(entries) > 0:
		return nil, fmt.Errorf("--log-dir: %s has files, such as %s: use a new folder for each run",
			dir, entries[0].Name())
	}
	return &Folder{dir: dir, files: map[string]*os.File{}}, nil
}

// folderFile is one file of a Folder. Writing returns no error: a full disk must not stop the training.
type folderFile struct {
	folder *Folder
	name   string
}

// of returns the file of a rank for one of its outputs: out, err or nccl. It is created when something is written.
func (f *Folder) of(rank int, output string) io.Writer {
	if f == nil {
		return io.Discard
	}
	return folderFile{f, fmt.Sprintf("rank-%d.%s", rank, output)}
}

// Write implements io.Writer.
func (w folderFile) Write(p []byte) (int, error) {
	f := w.folder
	f.mu.Lock()
	file, err := f.files[w.name], error(nil)
	if file == nil {
		file, err = os.OpenFile(filepath.Join(f.dir, w.name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
		f.files[w.name] = file
	}
	f.mu.Unlock()
	if err == nil {
		_, err = file.Write(p)
	}
	f.mu.Lock()
	f.err = cmp.Or(f.err, err)
	f.mu.Unlock()
	return len(p), nil
}

// close ends the files and returns where they are.
func (f *Folder) close() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, file := range f.files {
		if file != nil {
			f.err = cmp.Or(f.err, file.Close())
		}
	}
	if f.err != nil {
		return fmt.Sprintf("Output: %s, incomplete: %v", f.dir, f.err)
	}
	return "Output: " + f.dir
}
