package examine

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/railhead/railhead/internal/bundle"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/host/sysfs"
	"github.com/railhead/railhead/internal/rules"
)

// Saved reads snapshots, and the logs in archives.
func Saved(places []string) (machines []host.Snapshot, logs []bundle.Log, err error) {
	for _, place := range places {
		snapshots, text, err := readSaved(place)
		if err != nil {
			return nil, nil, fmt.Errorf("--with %s: %w", place, err)
		}
		machines, logs = append(machines, snapshots...), append(logs, text...)
	}
	return machines, logs, nil
}

// readSaved reads a snapshot in JSON, a recording or an archive of doctor.
func readSaved(place string) ([]host.Snapshot, []bundle.Log, error) {
	text, err := os.ReadFile(place)
	if err != nil {
		return nil, nil, cmp.Or(errors.Unwrap(err), err)
	}
	switch {
	case IsArchive(text):
		b, err := bundle.Read(bytes.NewReader(text))
		return snapshotsOf(b.Machines), b.Logs, err
	case IsJSON(text):
		s, err := ParseSnapshot(text)
		return []host.Snapshot{s}, nil, err
	}
	machine, err := sysfs.Open(place)
	if err != nil {
		return nil, nil, err
	}
	return []host.Snapshot{machine.Snapshot()}, nil, nil
}

// IsArchive reports whether a file is an archive of doctor.
func IsArchive(text []byte) bool { return bytes.HasPrefix(text, []byte("\x1f\x8b")) } // gzip

// IsJSON reports whether a file holds a JSON object.
func IsJSON(text []byte) bool { return bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) }

// ParseSnapshot reads a snapshot of railhead-pod, of this version or an earlier one.
func ParseSnapshot(text []byte) (host.Snapshot, error) {
	var s host.Snapshot
	if err := json.Unmarshal(text, &s); err != nil {
		return s, fmt.Errorf("not a snapshot: %w", err)
	}
	switch {
	case s.SchemaVersion == 0:
		return s, errors.New("not a snapshot: it has no schemaVersion; make one with 'railhead-pod snapshot'")
	case s.SchemaVersion > host.SchemaVersion:
		return s, NewerSchema(s.SchemaVersion, host.SchemaVersion)
	}
	return s, nil
}

// NewerSchema returns the error of a file that a newer railhead wrote.
func NewerSchema(version, known int) error {
	return fmt.Errorf("it has schemaVersion %d, this railhead knows %d: use a newer railhead", version, known)
}

// snapshotsOf returns the snapshots of the machines that were reached.
func snapshotsOf(machines []rules.Machine) []host.Snapshot {
	var all []host.Snapshot
	for _, m := range machines {
		if m.Unreached == "" {
			all = append(all, m.Snapshot)
		}
	}
	return all
}
