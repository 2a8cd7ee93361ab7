package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/railhead/railhead/internal/bundle"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/nccllog"
	"github.com/railhead/railhead/internal/rules"
)

// readMachines reads what is known of machines, and the logs of those archives that have them.
func readMachines(places []string) (machines []host.Snapshot, logs []bundle.Log, err error) {
	for _, place := range places {
		seen, said, err := readMachine(place)
		if err != nil {
			return nil, nil, fault(fmt.Errorf("--with %s: %w", place, err))
		}
		machines, logs = append(machines, seen...), append(logs, said...)
	}
	return machines, logs, nil
}

// readMachine reads a snapshot in JSON, a recording, or an archive of doctor.
func readMachine(place string) ([]host.Snapshot, []bundle.Log, error) {
	text, err := os.ReadFile(place)
	if err != nil {
		return nil, nil, bare(err)
	}
	switch {
	case bytes.HasPrefix(text, []byte("\x1f\x8b")): // gzip
		b, err := bundle.Read(bytes.NewReader(text))
		return snapshotsOf(b.Machines), b.Logs, err
	case bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")):
		s, err := parseSnapshot(text)
		return []host.Snapshot{s}, nil, err
	}
	machine, err := host.Open(place)
	if err != nil {
		return nil, nil, err
	}
	return []host.Snapshot{machine.Snapshot()}, nil, nil
}

func parseSnapshot(text []byte) (host.Snapshot, error) {
	var s host.Snapshot
	if err := json.Unmarshal(text, &s); err != nil {
		return s, fmt.Errorf("no snapshot: %w", err)
	}
	switch {
	case s.SchemaVersion == 0:
		return s, errors.New("no snapshot: it has no schemaVersion; 'railhead-pod snapshot' prints one")
	case s.SchemaVersion > host.SchemaVersion:
		return s, fmt.Errorf("it has schemaVersion %d, and this railhead knows %d: use a newer railhead", s.SchemaVersion, host.SchemaVersion)
	}
	return s, nil
}

// snapshotsOf are those of the machines that answered.
func snapshotsOf(machines []rules.Machine) []host.Snapshot {
	var all []host.Snapshot
	for _, m := range machines {
		if m.Unreached == "" {
			all = append(all, m.Snapshot)
		}
	}
	return all
}

// storyOf is the story of the logs that an archive has.
func storyOf(logs []bundle.Log, machines []host.Snapshot) rules.Story {
	var parser nccllog.Parser
	var skipped []rules.Skipped
	for _, log := range logs {
		reading, err := parser.Read(log.Name, strings.NewReader(log.Text))
		for _, s := range reading.Skipped {
			skipped = append(skipped, rules.Skipped{File: log.Name, Reason: s.Reason})
		}
		if err != nil {
			skipped = append(skipped, rules.Skipped{File: log.Name, Reason: err.Error()})
		}
	}
	s := rules.Log(parser.Log(), machines...)
	s.Skipped = skipped
	return s
}
