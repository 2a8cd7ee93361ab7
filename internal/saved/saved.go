// Package saved reads the files that railhead and railhead-pod wrote, and recognizes them by their content.
package saved

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/internal/bundle"
	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/host/decode"
	"github.com/railhead/railhead/internal/host/sysfs"
	"github.com/railhead/railhead/internal/rules"
	"github.com/railhead/railhead/internal/wire"
)

// File has the content of a file: an archive of doctor, a machine, or one result.
type File[M any] struct {
	Bundle   *bundle.Bundle // without its machines
	Machines []M            // of the archive, or the one of a snapshot or a recording
	Result   *bench.Result
	Verdict  *rules.Verdict
	Series   *wire.Series
}

// ErrEmpty is the error of a file without content.
var ErrEmpty = errors.New("nothing was written to it yet")

var errUnknown = errors.New("it is neither an archive of 'railhead doctor --save' nor the JSON of a bench, a " +
	"diagnosis, readings or a snapshot, nor a recorded machine")

// Read reads a file, or the folder of a captured machine. Of the machines it returns what keep returns for each: whole
// snapshots of 5,000 pods need a gigabyte. The calls of keep come from several goroutines at once.
func Read[M any](name string, keep func(rules.Machine) M) (File[M], error) {
	file, err := os.Open(name)
	if err != nil {
		return File[M]{}, cause(err)
	}
	defer file.Close()
	in := bufio.NewReader(file)
	switch begin, err := in.Peek(2); {
	case errors.Is(err, syscall.EISDIR):
	case len(begin) == 0 && errors.Is(err, io.EOF):
		return File[M]{}, ErrEmpty
	case err != nil && !errors.Is(err, io.EOF):
		return File[M]{}, cause(err)
	case string(begin) == "\x1f\x8b": // gzip
		b, machines, err := bundle.ReadEach(in, keep)
		return File[M]{Bundle: &b, Machines: machines}, err
	default:
		text, err := io.ReadAll(in)
		if err != nil {
			return File[M]{}, cause(err)
		}
		if bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) {
			return readJSON(filepath.Base(name), text, keep)
		}
	}
	machine, err := sysfs.Open(name)
	if err != nil {
		return File[M]{}, errUnknown
	}
	return File[M]{Machines: []M{keep(machineOf(machine.Snapshot(), filepath.Base(name)))}}, nil
}

// cause returns an error without the operation and the path.
func cause(err error) error { return cmp.Or(errors.Unwrap(err), err) }

// readJSON recognizes JSON by its keys.
func readJSON[M any](file string, text []byte, keep func(rules.Machine) M) (f File[M], err error) {
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(text, &keys); err != nil {
		return f, fmt.Errorf("read it as JSON: %w", err)
	}
	has := func(names ...string) bool {
		return !slices.ContainsFunc(names, func(name string) bool { return keys[name] == nil })
	}
	switch {
	case has("minEfficiency", "pods"):
		r, err := bench.ReadResult(bytes.NewReader(text))
		f.Result = &r
		return f, err
	case has("problems", "pods", "nodes"):
		f.Verdict, err = parseVerdict(text)
	case has("rails", "points"):
		f.Series, err = parseSeries(text)
	case has("schemaVersion"):
		s, err := parseSnapshot(text)
		if err != nil {
			return f, err
		}
		f.Machines = []M{keep(machineOf(s, file))}
	default:
		err = errUnknown
	}
	return f, err
}

func parseVerdict(text []byte) (*rules.Verdict, error) {
	var v rules.Verdict
	if err := json.Unmarshal(text, &v); err != nil {
		return nil, fmt.Errorf("not a diagnosis: %w", err)
	}
	if v.SchemaVersion > rules.DiagnosisSchema {
		return nil, newerSchema(v.SchemaVersion, rules.DiagnosisSchema)
	}
	return &v, nil
}

func parseSeries(text []byte) (*wire.Series, error) {
	var s wire.Series
	err := json.Unmarshal(text, &s)
	if err = cmp.Or(err, s.Check()); err != nil {
		return nil, fmt.Errorf("not readings of 'railhead wire': %w", err)
	}
	return &s, nil
}

// parseSnapshot reads a snapshot of railhead-pod, of this version or an earlier one.
func parseSnapshot(text []byte) (host.Snapshot, error) {
	var s host.Snapshot
	if err := decode.Snapshot(text, &s); err != nil {
		return s, fmt.Errorf("not a snapshot: %w", err)
	}
	switch {
	case s.SchemaVersion == 0:
		return s, errors.New("not a snapshot: it has no schemaVersion; make one with 'railhead-pod snapshot'")
	case s.SchemaVersion > host.SchemaVersion:
		return s, newerSchema(s.SchemaVersion, host.SchemaVersion)
	}
	return s, nil
}

// newerSchema returns the error of a file that a newer railhead wrote.
func newerSchema(version, known int) error {
	return fmt.Errorf("it has schemaVersion %d, this railhead knows %d: use a newer railhead", version, known)
}

// machineOf names a machine by its snapshot, or by the file. A machine with a container runtime is a node.
func machineOf(s host.Snapshot, file string) rules.Machine {
	name := cmp.Or(s.Pod.Value, strings.TrimSuffix(file, filepath.Ext(file)))
	m := rules.Machine{Ref: check.PodRef(s.Namespace.Value, name), Node: s.Node.Value, Snapshot: s}
	if s.Runtime != nil {
		m.Ref = check.NodeRef(cmp.Or(s.Node.Value, name))
	}
	return m
}
