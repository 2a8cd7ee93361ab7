package bundle

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/rules"
)

// Read reads an archive in bounded memory. It writes no files.
func Read(r io.Reader) (Bundle, error) {
	zip, err := gzip.NewReader(r)
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return Bundle{}, ErrTruncated
	case err != nil:
		return Bundle{}, fmt.Errorf("%w: %w", ErrNoBundle, err)
	}
	files, err := unpack(tar.NewReader(&bounded{r: zip, left: mostInAll}), zip)
	if err != nil {
		return Bundle{}, err
	}
	return assemble(files)
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

// unpack returns the files by name. The first must be a manifest of a version that it can read: later versions may be
// laid out differently.
func unpack(archive *tar.Reader, zip io.Reader) (map[string][]byte, error) {
	files := map[string][]byte{}
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) && len(files) > 0 {
			// the end of the compressed data has its checksum
			_, err = io.Copy(io.Discard, io.LimitReader(zip, mostOfOneFile))
			return files, broken(err)
		}
		if err != nil {
			return nil, broken(err)
		}
		if err := acceptable(header, len(files)); err != nil {
			return nil, err
		}
		if header.Typeflag == tar.TypeDir {
			continue
		}
		content, err := io.ReadAll(archive)
		if err != nil {
			return nil, broken(err)
		}
		if len(files) == 0 {
			if _, err := readManifest(content); err != nil {
				return nil, err
			}
		}
		files[header.Name] = content
	}
}

func acceptable(header *tar.Header, before int) error {
	switch {
	case before == 0 && header.Name != manifestFile:
		return fmt.Errorf("%w: it begins with %q", ErrNoBundle, header.Name)
	case header.Typeflag == tar.TypeDir:
	case header.Typeflag != tar.TypeReg || !safe(header.Name):
		return fmt.Errorf("%w: %q", ErrUnsafe, header.Name)
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

// decode reads the JSON of a file.
func decode(name string, content []byte, value any) error {
	if err := json.Unmarshal(content, value); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrNoBundle, name, err)
	}
	return nil
}

// readManifest fails if this railhead does not know the archive's form.
func readManifest(content []byte) (m Manifest, err error) {
	if err := decode(manifestFile, content, &m); err != nil {
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

func assemble(files map[string][]byte) (b Bundle, err error) {
	if b.Manifest, err = readManifest(files[manifestFile]); err != nil {
		return b, err
	}
	if len(files)-1 < b.Manifest.Files {
		return b, fmt.Errorf("%w: %d of %d files found", ErrTruncated, len(files)-1, b.Manifest.Files)
	}
	if b.State, err = readState(files); err != nil {
		return b, err
	}
	if b.Machines, err = readMachines(b.Manifest.Machines, files); err != nil {
		return b, err
	}
	if b.Bench, err = readBench(files); err != nil {
		return b, err
	}
	for _, e := range b.Manifest.Logs {
		b.Logs = append(b.Logs, Log{Name: e.Name, Container: e.Container, Text: string(files[e.File])})
	}
	return b, nil
}

// readMachines decodes the snapshots in parallel: a thousand take seconds.
func readMachines(entries []Entry, files map[string][]byte) ([]rules.Machine, error) {
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	machines := make([]rules.Machine, len(entries))
	for i, e := range entries {
		machines[i] = rules.Machine{Ref: check.ParseRef(e.Name), Node: e.Node, Group: e.Group, Unreached: e.Unreached}
		if e.Unreached != "" {
			continue
		}
		content, there := files[e.File]
		if !there {
			return nil, errors.Join(fmt.Errorf("%w: %s is missing", ErrTruncated, e.File), g.Wait())
		}
		delete(files, e.File) // a thousand snapshots need more memory than everything else
		g.Go(func() error { return decode(e.File, content, &machines[i].Snapshot) })
	}
	return machines, g.Wait()
}

func readBench(files map[string][]byte) (*bench.Result, error) {
	content, there := files[benchFile]
	if !there {
		return nil, nil
	}
	r, err := bench.ReadResult(bytes.NewReader(content))
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrNoBundle, benchFile, err)
	}
	return &r, nil
}

// readState joins the lists that addState wrote.
func readState(files map[string][]byte) (s cluster.State, err error) {
	parts := map[string]json.RawMessage{}
	if content, there := files[clusterFile]; there {
		if err := decode(clusterFile, content, &parts); err != nil {
			return s, err
		}
	}
	for name, content := range files {
		list, found := strings.CutPrefix(strings.TrimSuffix(name, ".json"), objects)
		if found && name != clusterFile {
			parts[list] = content
		}
	}
	if events, there := files[eventsFile]; there {
		parts["events"] = events
	}
	raw, err := json.Marshal(parts)
	if err != nil { // a part is no JSON
		return s, fmt.Errorf("%w: %s: %w", ErrNoBundle, objects, err)
	}
	return s, decode(objects, raw, &s)
}
