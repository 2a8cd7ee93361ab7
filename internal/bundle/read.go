package bundle

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host/decode"
	"github.com/railhead/railhead/internal/rules"
)

// Read reads an archive with whole snapshots.
func Read(r io.Reader) (b Bundle, err error) {
	b, b.Machines, err = ReadEach(r, func(m rules.Machine) rules.Machine { return m })
	return b, err
}

// ReadEach reads an archive in bounded memory. Instead of the machines it returns what keep returns for each of them,
// in the order of the manifest. The calls of keep come from several goroutines at once.
func ReadEach[T any](r io.Reader, keep func(rules.Machine) T) (b Bundle, kept []T, err error) {
	a := archive{b: &b, names: map[string]bool{}, snapshots: map[string]int{}, logs: map[string]string{}}
	a.take = func(i int, m rules.Machine) { kept[i] = keep(m) }
	a.begin = func() { kept = make([]T, len(b.Manifest.Machines)) }
	a.decoders.SetLimit(runtime.GOMAXPROCS(0))
	err = cmp.Or(a.read(r), a.decoders.Wait(), a.complete())
	return b, kept, err
}

// bounded fails after more bytes than any archive has.
type bounded struct {
	r    io.Reader
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return n, ErrTooLarge
	}
	return n, err
}

// archive reads the files of an archive as they come.
type archive struct {
	b         *Bundle
	begin     func()                       // the manifest was read
	take      func(i int, m rules.Machine) // with its index in the manifest
	names     map[string]bool              // of the files so far
	snapshots map[string]int               // by names of files that have not come yet: the index of the machine
	logs      map[string]string            // by names of files
	decoders  errgroup.Group
}

func (a *archive) read(r io.Reader) error {
	zip, err := gzip.NewReader(r)
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return ErrTruncated
	case err != nil:
		return fmt.Errorf("%w: %w", ErrNoBundle, err)
	}
	files := tar.NewReader(&bounded{r: zip, left: mostInAll})
	for {
		header, err := files.Next()
		if errors.Is(err, io.EOF) && len(a.names) > 0 {
			// the end of the compressed data has its checksum
			_, err = io.Copy(io.Discard, io.LimitReader(zip, mostOfOneFile))
			return broken(err)
		}
		if err != nil {
			return broken(err)
		}
		if err := a.accepts(header); err != nil {
			return err
		}
		if header.Typeflag == tar.TypeDir {
			continue
		}
		const usual = 1 << 20 // more is allocated only as it comes
		content := buffers.Get().(*bytes.Buffer)
		content.Reset()
		content.Grow(int(min(header.Size+bytes.MinRead, usual)))
		if _, err := content.ReadFrom(files); err != nil {
			return broken(err)
		}
		a.names[header.Name] = true
		if err := a.add(header.Name, content); err != nil {
			return err
		}
	}
}

// buffers holds the buffers of decoded snapshots for reuse.
var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// add takes a file. It ignores those that later versions may add.
func (a *archive) add(name string, file *bytes.Buffer) error {
	if i, listed := a.snapshots[name]; listed {
		delete(a.snapshots, name)
		a.decoders.Go(func() error {
			m := machineOf(a.b.Manifest.Machines[i])
			err := decode.Snapshot(file.Bytes(), &m.Snapshot)
			buffers.Put(file)
			a.take(i, m)
			return notRead(name, err)
		})
		return nil
	}
	content := file.Bytes()
	list, isList := strings.CutPrefix(strings.TrimSuffix(name, ".json"), objects)
	switch {
	case len(a.names) == 1:
		return a.addManifest(content)
	case name == benchFile:
		result, err := bench.ReadResult(bytes.NewReader(content))
		if err != nil {
			return fmt.Errorf("%w: %s: %w", ErrNoBundle, benchFile, err)
		}
		a.b.Bench = &result
	case name == clusterFile:
		return notRead(name, json.Unmarshal(content, &a.b.State))
	case name == eventsFile:
		return a.addList(name, "events", content)
	case isList:
		return a.addList(name, list, content)
	case strings.HasPrefix(name, logs):
		a.logs[name] = string(content)
	}
	return nil
}

// addManifest takes the manifest. It must be of a version that this railhead can read: later versions may be laid out
// differently.
func (a *archive) addManifest(content []byte) (err error) {
	if a.b.Manifest, err = readManifest(content); err != nil {
		return err
	}
	a.begin()
	for i, e := range a.b.Manifest.Machines {
		if e.Unreached != "" {
			a.take(i, machineOf(e))
			continue
		}
		if _, twice := a.snapshots[e.File]; twice {
			return fmt.Errorf("%w: two machines have %s", ErrNoBundle, e.File)
		}
		a.snapshots[e.File] = i
	}
	return nil
}

func machineOf(e Entry) rules.Machine {
	return rules.Machine{Ref: check.ParseRef(e.Name), Node: e.Node, Group: e.Group, Unreached: e.Unreached}
}

// addList takes one of the lists that addState wrote.
func (a *archive) addList(name, list string, content []byte) error {
	content = slices.Concat([]byte("{"+strconv.Quote(list)+":"), content, []byte("}"))
	return notRead(name, json.Unmarshal(content, &a.b.State))
}

// complete adds the logs, and fails if files are missing.
func (a *archive) complete() error {
	m := a.b.Manifest
	if found := len(a.names) - 1; found < m.Files {
		return fmt.Errorf("%w: %d of %d files found", ErrTruncated, found, m.Files)
	}
	for _, e := range m.Machines {
		if _, missing := a.snapshots[e.File]; missing && e.Unreached == "" {
			return fmt.Errorf("%w: %s is missing", ErrTruncated, e.File)
		}
	}
	for _, e := range m.Logs {
		a.b.Logs = append(a.b.Logs, Log{Name: e.Name, Container: e.Container, Text: a.logs[e.File]})
	}
	return nil
}

func (a *archive) accepts(header *tar.Header) error {
	switch before := len(a.names); {
	case before == 0 && header.Name != manifestFile:
		return fmt.Errorf("%w: it begins with %q", ErrNoBundle, header.Name)
	case header.Typeflag == tar.TypeDir:
	case header.Typeflag != tar.TypeReg || !safe(header.Name):
		return fmt.Errorf("%w: %q", ErrUnsafe, header.Name)
	case a.names[header.Name]:
		return fmt.Errorf("%w: a second %q", ErrUnsafe, header.Name)
	case header.Size > mostOfOneFile || before >= mostFiles:
		return ErrTooLarge
	}
	return nil
}

// broken returns the error of an archive that cannot be read to its end.
func broken(err error) error {
	switch {
	case err == nil, errors.Is(err, ErrTooLarge):
		return err
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return ErrTruncated
	}
	return fmt.Errorf("%w: %w", ErrNoBundle, err)
}

// notRead returns the error of a file whose content err rejects.
func notRead(name string, err error) error {
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrNoBundle, name, err)
	}
	return nil
}

// readManifest fails if this railhead does not know the archive's form.
func readManifest(content []byte) (m Manifest, err error) {
	if err := notRead(manifestFile, json.Unmarshal(content, &m)); err != nil {
		return m, err
	}
	switch {
	case m.SchemaVersion > SchemaVersion:
		err = fmt.Errorf("%w: format version %d, written by %s %s; this one reads up to %d",
			ErrNewer, m.SchemaVersion, m.Tool, m.Version, SchemaVersion)
	case m.SchemaVersion < 1 || m.Tool != "railhead":
		err = fmt.Errorf("%w: %s has no format version", ErrNoBundle, manifestFile)
	}
	return m, err
}

// safe reports whether a name stays within the archive.
func safe(name string) bool {
	return fs.ValidPath(name) && name != "." && !strings.ContainsAny(name, "\\\x00")
}

// known reports whether Write may write a file with that name.
func known(name string) bool {
	if !safe(name) {
		return false
	}
	inFolder := func(folder string) bool { return strings.HasPrefix(name, folder) }
	return slices.ContainsFunc([]string{snapshots, objects, logs}, inFolder) ||
		slices.Contains([]string{manifestFile, eventsFile, benchFile}, name)
}
