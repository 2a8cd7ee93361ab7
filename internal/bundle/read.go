package bundle

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"runtime"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/rules"
)

// Read reads an archive, in bounded memory. Nothing of it is written anywhere.
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

// bounded fails once more came than any archive has.
type bounded struct {
	r    io.Reader
	left int64
}

// Read implements io.Reader.
func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return n, ErrTooLarge
	}
	return n, err
}

// unpack returns the files by name. The first must be a manifest of a version that can be read: later ones may lie elsewhere.
func unpack(archive *tar.Reader, zip io.Reader) (map[string][]byte, error) {
	files := map[string][]byte{}
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) && len(files) > 0 {
			_, err = io.Copy(io.Discard, io.LimitReader(zip, mostOfOneFile)) // the end of the compressed data has its checksum
			return files, broken(err)
		}
		if err != nil {
			return nil, broken(err)
		}
		if len(files) == 0 && header.Name != manifestFile {
			return nil, fmt.Errorf("%w: it begins with %q", ErrNoBundle, header.Name)
		}
		switch {
		case header.Typeflag == tar.TypeDir:
			continue
		case header.Typeflag != tar.TypeReg || !safe(header.Name):
			return nil, fmt.Errorf("%w: %q", ErrUnsafe, header.Name)
		case header.Size > mostOfOneFile || len(files) >= mostFiles:
			return nil, ErrTooLarge
		}
		content, err := io.ReadAll(archive)
		if err != nil {
			return nil, broken(err)
		}
		files[header.Name] = content
		if header.Name == manifestFile && len(files) == 1 {
			if err := readable(content); err != nil {
				return nil, err
			}
		}
	}
}

// broken is the error of an archive that does not come to its end.
func broken(err error) error {
	switch {
	case err == nil, errors.Is(err, ErrTooLarge):
		return err
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return ErrTruncated
	}
	return fmt.Errorf("%w: %w", ErrNoBundle, err)
}

// readable reports whether this railhead knows the archive's form.
func readable(manifest []byte) error {
	var m Manifest
	if err := json.Unmarshal(manifest, &m); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrNoBundle, manifestFile, err)
	}
	switch {
	case m.SchemaVersion > SchemaVersion:
		return fmt.Errorf("%w: version %d of its form, by %s %s, and this one reads up to %d: take that railhead to read it", ErrNewer, m.SchemaVersion, m.Tool, m.Version, SchemaVersion)
	case m.SchemaVersion < 1 || m.Tool != "railhead":
		return fmt.Errorf("%w: %s names neither", ErrNoBundle, manifestFile)
	}
	return nil
}

// safe reports whether a name stays within the archive.
func safe(name string) bool {
	return name != "" && name == path.Clean(name) && !strings.HasPrefix(name, "/") && name != ".." && !strings.HasPrefix(name, "../") &&
		!strings.ContainsAny(name, "\\\x00")
}

// known reports whether an archive of today has a file of such a name.
func known(name string) bool {
	if !safe(name) {
		return false
	}
	for _, folder := range []string{snapshots, objects, logs} {
		if strings.HasPrefix(name, folder) {
			return true
		}
	}
	return name == manifestFile || name == eventsFile || name == benchFile
}

// assemble makes a bundle of the files.
func assemble(files map[string][]byte) (Bundle, error) {
	var b Bundle
	if err := json.Unmarshal(files[manifestFile], &b.Manifest); err != nil {
		return b, fmt.Errorf("%w: %s: %w", ErrNoBundle, manifestFile, err)
	}
	if len(files)-1 < b.Manifest.Files {
		return b, fmt.Errorf("%w: %d of %d files came", ErrTruncated, len(files)-1, b.Manifest.Files)
	}
	var err error
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

// readMachines decodes the snapshots, several at once: a thousand are as many megabytes of JSON as seconds.
func readMachines(entries []Entry, files map[string][]byte) ([]rules.Machine, error) {
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	machines := make([]rules.Machine, len(entries))
	for i, e := range entries {
		machines[i] = rules.Machine{Name: e.Name, Node: e.Node, Group: e.Group, Unreached: e.Unreached}
		if e.Unreached != "" {
			continue
		}
		content, there := files[e.File]
		if !there {
			return nil, errors.Join(fmt.Errorf("%w: %s is missing", ErrTruncated, e.File), g.Wait())
		}
		delete(files, e.File) // the memory of a thousand is more than the rest needs
		g.Go(func() error {
			if err := json.Unmarshal(content, &machines[i].Snapshot); err != nil {
				return fmt.Errorf("%w: %s: %w", ErrNoBundle, e.File, err)
			}
			return nil
		})
	}
	return machines, g.Wait()
}

// readBench decodes what was measured, where something was.
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

// readState puts the lists together again.
func readState(files map[string][]byte) (s cluster.State, err error) {
	parts := map[string]json.RawMessage{}
	if content, there := files[clusterFile]; there {
		if err := json.Unmarshal(content, &parts); err != nil {
			return s, fmt.Errorf("%w: %s: %w", ErrNoBundle, clusterFile, err)
		}
	}
	for name, content := range files {
		kind, is := strings.CutPrefix(strings.TrimSuffix(name, ".json"), objects)
		if is && name != clusterFile {
			parts[kind] = content
		}
	}
	if events, there := files[eventsFile]; there {
		parts["events"] = events
	}
	raw, err := json.Marshal(parts)
	if err == nil {
		err = json.Unmarshal(raw, &s)
	}
	if err != nil {
		return s, fmt.Errorf("%w: its objects: %w", ErrNoBundle, err)
	}
	return s, nil
}
