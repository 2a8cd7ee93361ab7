// Package replay holds recorded machines: one text file each, read as a file system.
package replay

import (
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Archive is a recorded machine in one text file: the files that were read, the links, the errors.
// It is txtar (golang.org/x/tools/txtar) with four forms of names:
//
//	-- sys/class/net/eth0/mtu --                       a file, its content on the lines below
//	-- sys/class/net/eth0 -> ../../devices/... --      a symbolic link
//	-- sys/.../ports/1/gids/9 ! EINVAL --              reading it fails with this error
//	-- dev/shm/ --                                     a directory without known content
//
// A last name element "4..255" stands for each of those numbers. A content line that begins with "-- " or with
// backslashes before "-- " carries one more backslash. Archive implements fs.FS and follows its own links.
type Archive struct {
	Comment string
	nodes   map[string]*node
}

type node struct {
	mode     fs.FileMode
	content  string        // of a link its target
	err      syscall.Errno // of reading it
	children map[string]bool
}

const (
	fileMode = 0o444
	linkMode = fs.ModeSymlink | 0o777
)

func newDir() *node { return &node{mode: fs.ModeDir | 0o555, children: map[string]bool{}} }

func (n *node) isLink() bool { return n.mode == linkMode }

// maxRange bounds "a..b" names: no kernel table that is read here is longer.
const maxRange = 4096

// New returns an archive without files.
func New() *Archive { return &Archive{nodes: map[string]*node{".": newDir()}} }

// Parse reads the form described at Archive.
func Parse(text string) (*Archive, error) {
	a := New()
	var name string
	var body strings.Builder
	flush := func() error {
		defer body.Reset()
		if name == "" {
			a.Comment = body.String()
			return nil
		}
		return a.addSection(name, body.String())
	}
	for line := range strings.Lines(text) {
		header, ok := sectionName(line)
		if !ok {
			body.WriteString(unescapeLine(line))
			continue
		}
		if err := flush(); err != nil {
			return nil, err
		}
		name = header
	}
	if err := flush(); err != nil {
		return nil, err
	}
	return a, nil
}

func sectionName(line string) (string, bool) {
	s := strings.TrimRight(line, "\r\n")
	if len(s) < len("-- x --") || !strings.HasPrefix(s, "-- ") || !strings.HasSuffix(s, " --") {
		return "", false
	}
	name := strings.TrimSpace(s[3 : len(s)-3])
	return name, name != ""
}

func unescapeLine(line string) string {
	if strings.HasPrefix(line, `\`) && strings.HasPrefix(strings.TrimLeft(line, `\`), "-- ") {
		return line[1:]
	}
	return line
}

func escapeLine(line string) string {
	if strings.HasPrefix(strings.TrimLeft(line, `\`), "-- ") {
		return `\` + line
	}
	return line
}

func (a *Archive) addSection(header, body string) error {
	n := &node{mode: fileMode, content: body}
	name := header
	if before, target, ok := strings.Cut(header, " -> "); ok {
		name, n = before, &node{mode: linkMode, content: target}
	} else if before, errName, ok := strings.Cut(header, " ! "); ok {
		errno, known := Errno(errName)
		if !known {
			return fmt.Errorf("archive: %.60s: unknown error %.60q", before, errName)
		}
		name, n = before, &node{mode: fileMode, err: errno}
	} else if strings.HasSuffix(header, "/") {
		name, n = strings.TrimSuffix(header, "/"), newDir()
	}
	dir, last := path.Split(name)
	from, to, isRange := cutRange(last)
	if !isRange {
		return a.add(name, n)
	}
	if to-from >= maxRange {
		return fmt.Errorf("archive: %.60s: range longer than %d", name, maxRange)
	}
	for i := from; i <= to; i++ {
		each := *n
		if err := a.add(dir+strconv.Itoa(i), &each); err != nil {
			return err
		}
	}
	return nil
}

func cutRange(name string) (from, to int, ok bool) {
	a, b, found := strings.Cut(name, "..")
	from, ok1 := number(a)
	to, ok2 := number(b)
	return from, to, found && ok1 && ok2 && from <= to
}

// number reads a name that stands for a number and for nothing else: 007 and +7 are names of other files than 7.
func number(name string) (int, bool) {
	n, err := strconv.Atoi(name)
	return n, err == nil && n >= 0 && strconv.Itoa(n) == name
}

// add puts a node and the directories above it in place.
func (a *Archive) add(name string, n *node) error {
	if !fs.ValidPath(name) || name == "." {
		return fmt.Errorf("archive: %.60q is not a relative path", name)
	}
	if old := a.nodes[name]; old != nil && len(old.children) > 0 {
		if n.mode.IsDir() {
			return nil
		}
		return fmt.Errorf("archive: %.60s is both a directory and something else", name)
	}
	a.nodes[name] = n
	for child := name; child != "."; {
		dir := path.Dir(child)
		parent := a.nodes[dir]
		if parent == nil {
			parent = newDir()
			a.nodes[dir] = parent
		}
		if !parent.mode.IsDir() {
			return fmt.Errorf("archive: %.60s lies below %.60s, which is not a directory", name, dir)
		}
		parent.children[path.Base(child)] = true
		child = dir
	}
	return nil
}

// AddFile adds a file and the directories above it. A directory that has files stays one.
func (a *Archive) AddFile(name, content string) error {
	return a.add(name, &node{mode: fileMode, content: content})
}

// AddLink adds a symbolic link, under the rules of AddFile.
func (a *Archive) AddLink(name, target string) error {
	return a.add(name, &node{mode: linkMode, content: target})
}

// AddDir adds a directory.
func (a *Archive) AddDir(name string) error { return a.add(name, newDir()) }

// AddError adds a file whose reading fails with err, under the rules of AddFile.
func (a *Archive) AddError(name string, err syscall.Errno) error {
	return a.add(name, &node{mode: fileMode, err: err})
}

// Has reports whether the archive itself, without following links, has the name.
func (a *Archive) Has(name string) bool { return a.nodes[name] != nil }

// Names returns the names of all files, links and directories, in no order.
func (a *Archive) Names() []string { return slices.Collect(maps.Keys(a.nodes)) }

// Remove removes a file, link or empty directory, and the directories that this leaves empty.
func (a *Archive) Remove(name string) {
	for name != "." && a.nodes[name] != nil && len(a.nodes[name].children) == 0 {
		dir := path.Dir(name)
		delete(a.nodes, name)
		delete(a.nodes[dir].children, path.Base(name))
		name = dir
	}
}

// Format writes the archive so that Parse reads it back; numbered siblings that are alike are folded.
func (a *Archive) Format() string {
	var b strings.Builder
	writeText(&b, a.Comment)
	names := make([]string, 0, len(a.nodes))
	for name, n := range a.nodes {
		if name != "." && len(n.children) == 0 {
			names = append(names, name)
		}
	}
	sort.Slice(names, func(i, j int) bool { return compareNumbered(names[i], names[j]) < 0 })
	for i := 0; i < len(names); {
		n, end := a.nodes[names[i]], i+1
		for end < len(names) && follows(names[end-1], names[end]) && alike(n, a.nodes[names[end]]) {
			end++
		}
		name := names[i]
		if end > i+1 {
			name += ".." + path.Base(names[end-1])
		}
		writeSection(&b, name, n)
		i = end
	}
	return b.String()
}

func writeSection(b *strings.Builder, name string, n *node) {
	switch {
	case n.isLink():
		fmt.Fprintf(b, "-- %s -> %s --\n", name, n.content)
	case n.err != 0:
		fmt.Fprintf(b, "-- %s ! %s --\n", name, ErrnoName(n.err))
	case n.mode.IsDir():
		fmt.Fprintf(b, "-- %s/ --\n", name)
	default:
		fmt.Fprintf(b, "-- %s --\n", name)
		writeText(b, n.content)
	}
}

// writeText writes lines that cannot be taken for names.
func writeText(b *strings.Builder, text string) {
	for line := range strings.Lines(text) {
		b.WriteString(escapeLine(line))
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		b.WriteByte('\n')
	}
}

// compareNumbered orders by directory, then by number where both names are numbers.
func compareNumbered(a, b string) int {
	if c := strings.Compare(path.Dir(a), path.Dir(b)); c != 0 {
		return c
	}
	i, ok1 := number(path.Base(a))
	j, ok2 := number(path.Base(b))
	if ok1 && ok2 {
		return i - j
	}
	return strings.Compare(a, b)
}

// follows reports whether b is the numbered sibling after a.
func follows(a, b string) bool {
	i, ok1 := number(path.Base(a))
	j, ok2 := number(path.Base(b))
	return ok1 && ok2 && j == i+1 && path.Dir(a) == path.Dir(b)
}

func alike(a, b *node) bool { return a.mode == b.mode && a.content == b.content && a.err == b.err }

// MaxLinks is the kernel's own bound on links in one path (path_resolution(7)).
const MaxLinks = 40

// resolve follows links; the last element's too when followLast.
func (a *Archive) resolve(name string, followLast bool) (string, *node, error) {
	at, rest := ".", name
	for links := 0; ; {
		if rest == "" || rest == "." {
			return at, a.nodes[at], nil
		}
		first, after, _ := strings.Cut(rest, "/")
		next := first // name and links are clean, so nothing is left for path.Join to do
		if at != "." {
			next = at + "/" + first
		}
		n := a.nodes[next]
		switch {
		case n == nil:
			return next, nil, syscall.ENOENT
		case n.isLink() && (after != "" || followLast):
			if links++; links > MaxLinks {
				return next, nil, syscall.ELOOP
			}
			if strings.HasPrefix(n.content, "/") {
				at = "."
			}
			target := path.Join(at, n.content)
			if strings.HasPrefix(target, "..") {
				return next, nil, syscall.ENOENT
			}
			at, rest = ".", strings.TrimPrefix(path.Join(target, after), "/")
			continue
		case after != "" && !n.mode.IsDir():
			return next, nil, syscall.ENOTDIR
		}
		at, rest = next, after
	}
}

func (a *Archive) lookup(op, name string, followLast bool) (*node, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	_, n, err := a.resolve(name, followLast)
	if err == nil && n.err != 0 {
		err = n.err
	}
	if err != nil {
		return nil, &fs.PathError{Op: op, Path: name, Err: err}
	}
	return n, nil
}

// ReadFile implements fs.ReadFileFS.
func (a *Archive) ReadFile(name string) ([]byte, error) {
	n, err := a.lookup("read", name, true)
	if err != nil {
		return nil, err
	}
	if n.mode.IsDir() {
		return nil, &fs.PathError{Op: "read", Path: name, Err: syscall.EISDIR}
	}
	return []byte(n.content), nil
}

// ReadLink implements fs.ReadLinkFS.
func (a *Archive) ReadLink(name string) (string, error) {
	n, err := a.lookup("readlink", name, false)
	if err != nil {
		return "", err
	}
	if !n.isLink() {
		return "", &fs.PathError{Op: "readlink", Path: name, Err: syscall.EINVAL}
	}
	return n.content, nil
}

// ReadDir implements fs.ReadDirFS.
func (a *Archive) ReadDir(name string) ([]fs.DirEntry, error) {
	n, err := a.lookup("readdir", name, true)
	if err != nil {
		return nil, err
	}
	if !n.mode.IsDir() {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: syscall.ENOTDIR}
	}
	real, _, _ := a.resolve(name, true)
	entries := make([]fs.DirEntry, 0, len(n.children))
	for child := range n.children {
		entries = append(entries, fs.FileInfoToDirEntry(archiveInfo{child, a.nodes[path.Join(real, child)]}))
	}
	sort.Slice(entries, func(i, j int) bool { return entries[i].Name() < entries[j].Name() })
	return entries, nil
}

// Lstat implements fs.ReadLinkFS.
func (a *Archive) Lstat(name string) (fs.FileInfo, error) { return a.stat(name, false) }

// Stat implements fs.StatFS.
func (a *Archive) Stat(name string) (fs.FileInfo, error) { return a.stat(name, true) }

// stat succeeds on a file that cannot be read, as stat(2) does.
func (a *Archive) stat(name string, follow bool) (fs.FileInfo, error) {
	_, n, err := a.resolve(name, follow)
	if err != nil {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: err}
	}
	return archiveInfo{path.Base(name), n}, nil
}

// Open implements fs.FS.
func (a *Archive) Open(name string) (fs.File, error) {
	n, err := a.lookup("open", name, true)
	if err != nil {
		return nil, err
	}
	return &archiveFile{archiveInfo{path.Base(name), n}, strings.NewReader(n.content)}, nil
}

type archiveFile struct {
	info archiveInfo
	io.Reader
}

func (f *archiveFile) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *archiveFile) Close() error               { return nil }

type archiveInfo struct {
	name string
	node *node
}

func (i archiveInfo) Name() string       { return i.name }
func (i archiveInfo) Size() int64        { return int64(len(i.node.content)) }
func (i archiveInfo) ModTime() time.Time { return time.Time{} }
func (i archiveInfo) Mode() fs.FileMode  { return i.node.mode }
func (i archiveInfo) IsDir() bool        { return i.node.mode.IsDir() }
func (i archiveInfo) Sys() any           { return nil }
