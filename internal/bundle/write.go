package bundle

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/railhead/railhead/internal/cluster"
)

// Write writes the archive. It writes only the parts of the bundle that Clean keeps.
func Write(w io.Writer, b Bundle) error {
	files, err := contents(Clean(b))
	if err != nil {
		return err
	}
	zip := gzip.NewWriter(w)
	archive := tar.NewWriter(zip)
	for _, f := range files {
		header := &tar.Header{
			Typeflag: tar.TypeReg,
			Name:     f.name,
			Mode:     0o644,
			Size:     int64(len(f.content)),
			ModTime:  b.Manifest.Taken.UTC().Truncate(time.Second),
			Format:   tar.FormatPAX,
		}
		if err := archive.WriteHeader(header); err != nil {
			return fmt.Errorf("write %s: %w", f.name, err)
		}
		if _, err := archive.Write(f.content); err != nil {
			return fmt.Errorf("write %s: %w", f.name, err)
		}
	}
	if err := archive.Close(); err != nil {
		return fmt.Errorf("close the archive: %w", err)
	}
	if err := zip.Close(); err != nil {
		return fmt.Errorf("close the archive: %w", err)
	}
	return nil
}

type file struct {
	name    string
	content []byte
}

// archived lists the files of an archive.
type archived []file

func (a *archived) add(name string, value any) error {
	content, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	*a = append(*a, file{name, content})
	return nil
}

// contents returns the files of an archive, the manifest first.
func contents(b Bundle) ([]file, error) {
	m := b.Manifest
	m.SchemaVersion, m.Tool, m.Machines, m.Logs = SchemaVersion, "railhead", []Entry{}, nil
	var files archived
	if err := files.addState(b.State); err != nil {
		return nil, err
	}
	for _, machine := range b.Machines {
		e := Entry{Name: machine.Ref.String(), Node: machine.Node, Group: machine.Group, Unreached: machine.Unreached}
		if e.Unreached == "" {
			e.File = snapshots + e.Name + ".json"
			if err := files.add(e.File, machine.Snapshot); err != nil {
				return nil, err
			}
		}
		m.Machines = append(m.Machines, e)
	}
	for _, l := range b.Logs {
		e := Entry{Name: l.Name, Container: l.Container, File: logs + l.Name + "/" + l.Container + ".log"}
		files = append(files, file{e.File, []byte(l.Text)})
		m.Logs = append(m.Logs, e)
	}
	if b.Bench != nil {
		if err := files.add(benchFile, b.Bench); err != nil {
			return nil, err
		}
	}
	m.Files = len(files)
	manifest, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", manifestFile, err)
	}
	files = slices.Insert(files, 0, file{manifestFile, append(manifest, '\n')})
	for _, f := range files {
		if !known(f.name) {
			return nil, fmt.Errorf("%w: %q", ErrUnsafe, f.name)
		}
	}
	return files, nil
}

// addState adds a file for each list of a State, and one for the other fields.
func (a *archived) addState(s cluster.State) error {
	raw, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("write the objects: %w", err)
	}
	var parts map[string]json.RawMessage
	if err := json.Unmarshal(raw, &parts); err != nil {
		return fmt.Errorf("write the objects: %w", err)
	}
	rest := map[string]json.RawMessage{}
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		switch list := strings.HasPrefix(string(parts[name]), "["); {
		case name == "events":
			*a = append(*a, file{eventsFile, parts[name]})
		case list && name != "read":
			*a = append(*a, file{objects + name + ".json", parts[name]})
		default:
			rest[name] = parts[name]
		}
	}
	return a.add(clusterFile, rest)
}
