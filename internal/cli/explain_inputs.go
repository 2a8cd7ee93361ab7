package cli

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// logTree finds the logs that a folder stands for.
type logTree struct {
	skip  func(name, reason string)
	seen  map[string]bool // real paths
	found []string
}

// logPaths are the files that an argument stands for: itself, or all logs in and below it, rank2 before rank10. What is
// left out is said. No file is opened: of thousands, each is when its turn comes.
func logPaths(arg string, skip func(name, reason string)) []string {
	info, err := os.Stat(arg)
	if err != nil || !info.IsDir() {
		return []string{arg} // who opens it says why it cannot be read
	}
	t := logTree{skip: skip, seen: map[string]bool{}}
	t.folder(arg)
	return t.found
}

// folder takes the files of a folder in their order, and those of the folders in it.
func (t *logTree) folder(path string) {
	if !t.first(path) {
		return // a link leads to where it came from
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		t.skip(path, bare(err).Error())
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return naturalOrder(a.Name(), b.Name()) })
	left := leftOut{}
	for _, e := range entries {
		t.entry(filepath.Join(path, e.Name()), e, left)
	}
	left.say(path, t.skip)
}

// entry takes one file or folder. What has a dot in front is nobody's log.
func (t *logTree) entry(path string, e fs.DirEntry, left leftOut) {
	if strings.HasPrefix(e.Name(), ".") {
		left.add("hidden", e.Name())
		return
	}
	info, err := os.Stat(path) // what a link leads to
	switch {
	case err != nil:
		t.skip(path, bare(err).Error())
	case info.IsDir():
		t.folder(path)
	case !info.Mode().IsRegular():
		left.add("no regular file", e.Name()) // to read a pipe or a device may never end
	case !mayBeLog(e.Name()):
		left.add("no log by its name", e.Name())
	case info.Size() == 0:
		left.add("empty", e.Name())
	case !t.first(path):
		left.add("the same as another", e.Name())
	default:
		t.found = append(t.found, path)
	}
}

// first reports whether the file or folder is met for the first time, whatever links lead to it.
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

// leftOut are names of files in one folder that are not read, by the reason.
type leftOut map[string][]string

func (l leftOut) add(reason, name string) { l[reason] = append(l[reason], name) }

// say says what was left out: once for a folder, and not a thousand times.
func (l leftOut) say(folder string, skip func(name, reason string)) {
	const shown = 3
	reasons := make([]string, 0, len(l))
	for reason := range l {
		reasons = append(reasons, reason)
	}
	slices.Sort(reasons)
	for _, reason := range reasons {
		switch names := l[reason]; {
		case len(names) == 1:
			skip(filepath.Join(folder, names[0]), reason)
		case len(names) <= shown:
			skip(folder, fmt.Sprintf("%d files, %s: %s", len(names), reason, strings.Join(names, ", ")))
		default:
			skip(folder, fmt.Sprintf("%d files, %s: %s and %d more", len(names), reason, strings.Join(names[:shown], ", "), len(names)-shown))
		}
	}
}

// otherNames are the ends of names that logs do not have, but that stand beside them: models, libraries, sources, results.
var otherNames = []string{
	".pt", ".pth", ".ckpt", ".safetensors", ".bin", ".idx", ".npy", ".npz", ".pkl", ".pickle", ".parquet", ".arrow", ".h5",
	".so", ".o", ".a", ".whl", ".pyc", ".exe", ".dll",
	".py", ".ipynb", ".sh", ".sbatch", ".c", ".cc", ".cpp", ".cu", ".h", ".yaml", ".yml", ".toml", ".xml", ".md", ".html",
	".png", ".jpg", ".jpeg", ".svg", ".gif", ".pdf", ".mp4",
	".nsys-rep", ".qdrep", ".ncu-rep", ".sqlite", ".db", ".zip", ".tar", ".tgz", ".tar.gz", ".tar.zst", ".pcap",
}

// mayBeLog judges by the name alone.
func mayBeLog(name string) bool {
	name = strings.ToLower(name)
	if strings.HasPrefix(name, "events.out.tfevents") { // of TensorBoard
		return false
	}
	name = strings.TrimRight(name, ".0123456789") // libnccl.so.2.26.2
	return !slices.ContainsFunc(otherNames, func(end string) bool { return strings.HasSuffix(name, end) })
}

// naturalOrder compares names as people do: numbers in them by their value.
func naturalOrder(a, b string) int {
	whole := strings.Compare(a, b)
	for a != "" && b != "" {
		na, nb := digits(a), digits(b)
		if na == 0 || nb == 0 {
			if a[0] != b[0] {
				return cmp.Compare(a[0], b[0])
			}
			a, b = a[1:], b[1:]
			continue
		}
		x, y := strings.TrimLeft(a[:na], "0"), strings.TrimLeft(b[:nb], "0")
		if order := cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(x, y)); order != 0 {
			return order
		}
		a, b = a[na:], b[nb:]
	}
	return cmp.Or(cmp.Compare(len(a), len(b)), whole)
}

// digits is how many digits the text begins with.
func digits(text string) int {
	return len(text) - len(strings.TrimLeft(text, "0123456789"))
}
