package logsource

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/words"
)

type logTree struct {
	skip  func(name, reason string)
	seen  map[string]bool // real paths
	found []string
}

// logPaths returns the file itself, or all logs in and below a folder, rank2 before rank10. It opens no file, because
// there may be thousands, and calls skip for those that are no logs.
func logPaths(arg string, skip func(name, reason string)) []string {
	info, err := os.Stat(arg)
	if err != nil || !info.IsDir() {
		return []string{arg} // opening it gives the error
	}
	t := logTree{skip: skip, seen: map[string]bool{}}
	t.folder(arg)
	return t.found
}

func (t *logTree) folder(path string) {
	if !t.first(path) {
		return // a link to a folder that was read
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		t.skip(path, reason(err))
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return words.Natural(a.Name(), b.Name()) })
	left := leftOut{}
	for _, e := range entries {
		t.entry(filepath.Join(path, e.Name()), e, left)
	}
	left.report(path, t.skip)
}

func (t *logTree) entry(path string, e fs.DirEntry, left leftOut) {
	if strings.HasPrefix(e.Name(), ".") {
		left.add("hidden", e.Name())
		return
	}
	info, err := os.Stat(path) // follows links
	switch {
	case err != nil:
		t.skip(path, reason(err))
	case info.IsDir():
		t.folder(path)
	case !info.Mode().IsRegular():
		left.add("not a regular file", e.Name()) // reading a pipe or a device may never end
	case !mayBeLog(e.Name()):
		left.add("not named like a log", e.Name())
	case info.Size() == 0:
		left.add("empty", e.Name())
	case !t.first(path):
		left.add("same file as another", e.Name())
	default:
		t.found = append(t.found, path)
	}
}

// first reports whether the file or folder was not seen before, under any name.
func (t *logTree) first(path string) bool {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	if t.seen[path] {
		return false
	}
	t.seen[path] = true
	return true
}

// leftOut has the names of skipped files of one folder, by reason.
type leftOut map[string][]string

func (l leftOut) add(reason, name string) { l[reason] = append(l[reason], name) }

// report calls skip once per reason, not once per file.
func (l leftOut) report(folder string, skip func(name, reason string)) {
	const shown = 3
	for _, reason := range slices.Sorted(maps.Keys(l)) {
		if names := l[reason]; len(names) == 1 {
			skip(filepath.Join(folder, names[0]), reason)
		} else {
			skip(folder, fmt.Sprintf("%d files, %s: %s", len(names), reason, words.Few(names, shown)))
		}
	}
}

// otherSuffixes end the names of files next to logs: models, libraries, sources, results.
var otherSuffixes = strings.Fields(`
	.pt .pth .ckpt .safetensors .bin .idx .npy .npz .pkl .pickle .parquet .arrow .h5
	.so .o .a .whl .pyc .exe .dll
	.py .ipynb .sh .sbatch .c .cc .cpp .cu .h .yaml .yml .toml .xml .md .html
	.png .jpg .jpeg .svg .gif .pdf .mp4
	.nsys-rep .qdrep .ncu-rep .sqlite .db .zip .tar .tgz .tar.gz .tar.zst .pcap`)

func mayBeLog(name string) bool {
	name = strings.ToLower(name)
	if strings.HasPrefix(name, "events.out.tfevents") { // TensorBoard
		return false
	}
	name = strings.TrimRight(name, ".0123456789") // libnccl.so.2.26.2
	return !slices.ContainsFunc(otherSuffixes, func(suffix string) bool { return strings.HasSuffix(name, suffix) })
}
