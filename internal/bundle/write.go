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
	"github.com/railhead/railhead/internal/rules"
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

// contents returns the files of an archive, the manifest first.
func contents(b Bundle) ([]file, error) {
	m := b.Manifest
	m.SchemaVersion, m.Tool, m.Machines, m.Logs = SchemaVersion, "railhead", []Entry{}, nil
	files, err := stateFiles(b.State)
	if err != nil {
		return nil, err
	}
	for _, machine := range b.Machines {
		e, snapshot, err := machineFile(machine)
		if err != nil {
			return nil, err
		}
		m.Machines = append(m.Machines, e)
		files = append(files, snapshot...)
	}
	for _, l := range b.Logs {
		e := Entry{Name: l.Name, Container: l.Container, File: logs + l.Name + "/" + l.Container + ".log"}
		files = append(files, file{e.File, []byte(l.Text)})
		m.Logs = append(m.Logs, e)
	}
	if b.Bench != nil {
		content, err := json.Marshal(b.Bench)
		if err != nil {
			return nil, fmt.Errorf("write the measurements: %w", err)
		}
		files = append(files, file{benchFile, content})
	}
	m.Files = len(files)
	content, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write the manifest: %w", err)
	}
	files = slices.Insert(files, 0, file{manifestFile, append(content, '\n')})
	for _, f := range files {
		if !known(f.name) {
			return nil, fmt.Errorf("%w: %q", ErrUnsafe, f.name)
		}
	}
	return files, nil
}

// machineFile returns no file for a machine that could not be reached.
func machineFile(m rules.Machine) (Entry, []file, error) {
	e := Entry{Name: m.Ref.String(), Node: m.Node, Group: m.Group, Unreached: m.Unreached}
	if m.Unreached != "" {
		return e, nil, nil
	}
	e.File = snapshots + e.Name + ".json"
	content, err := json.Marshal(m.Snapshot)
	if err != nil {
		return e, nil, fmt.Errorf("write the snapshot of %s: %w", e.Name, err)
	}
	return e, []file{{e.File, content}}, nil
}

// stateFiles returns a file for each list of a State, and one for the other fields.
func stateFiles(s cluster.State) ([]file, error) {
	raw, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("write the objects: %w", err)
	}
	var parts map[string]json.RawMessage
	if err := json.Unmarshal(raw, &parts); err != nil {
		return nil, fmt.Errorf("write the objects: %w", err)
	}
	var files []file
	rest := map[string]json.RawMessage{}
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		switch list := strings.HasPrefix(string(parts[name]), "["); {
		case name == "events":
			files = append(files, file{eventsFile, parts[name]})
		case list && name != "read":
			files = append(files, file{objects + name + ".json", parts[name]})
		default:
			rest[name] = parts[name]
		}
	}
	content, err := json.Marshal(rest)
	return append(files, file{clusterFile, content}), err
}
