package collect

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/railhead/railhead/internal/bundle"
	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/host/sysfs"
	"github.com/railhead/railhead/internal/rules"
)

// Saved reads and judges saved machines, and reads the logs in archives.
func Saved(places []string) (machines []rules.Judged, logs []bundle.Log, err error) {
	for _, place := range places {
		judged, text, err := readSaved(place)
		if err != nil {
			return nil, nil, fmt.Errorf("--with %s: %w", place, err)
		}
		machines, logs = append(machines, judged...), append(logs, text...)
	}
	return machines, logs, nil
}

// readSaved reads a snapshot in JSON, a recording or an archive of doctor.
func readSaved(place string) ([]rules.Judged, []bundle.Log, error) {
	text, err := os.ReadFile(place)
	if err != nil {
		return nil, nil, cmp.Or(errors.Unwrap(err), err)
	}
	switch {
	case IsArchive(text):
		b, machines, err := bundle.ReadEach(bytes.NewReader(text), rules.Judge)
		return machines, b.Logs, err
	case IsJSON(text):
		s, err := ParseSnapshot(text)
		return []rules.Judged{rules.Judge(MachineOf(s, place))}, nil, err
	}
	machine, err := sysfs.Open(place)
	if err != nil {
		return nil, nil, err
	}
	return []rules.Judged{rules.Judge(MachineOf(machine.Snapshot(), place))}, nil, nil
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

// MachineOf returns the machine of a snapshot in a file: a node if it has a container runtime, else a pod.
func MachineOf(s host.Snapshot, file string) rules.Machine {
	name := cmp.Or(s.Pod.Value, strings.TrimSuffix(filepath.Base(file), filepath.Ext(file)))
	m := rules.Machine{Ref: check.PodRef(s.Namespace.Value, name), Node: s.Node.Value, Snapshot: s}
	if s.Runtime != nil {
		m.Ref = check.NodeRef(cmp.Or(s.Node.Value, name))
	}
	return m
}
