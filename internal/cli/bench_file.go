package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/railhead/railhead/internal/bench"
)

// saveBench keeps a result as JSON in one line: of a large matrix every line is a number otherwise. Who reads the file meanwhile
// sees the old or the new one.
func saveBench(name string, r bench.Result) error {
	encode := func(w io.Writer) error { return json.NewEncoder(w).Encode(r) }
	if info, err := os.Lstat(name); err == nil && !info.Mode().IsRegular() { // a pipe, as /dev/stdout may be
		return writeFile(name, encode)
	}
	next := name + ".part"
	if err := writeFile(next, encode); err != nil {
		return err
	}
	return os.Rename(next, name)
}

// mostOfFile bounds what is read of a result: that of 1,024 pods with 8 rails has 40 MB.
const mostOfFile = 1 << 30

// readBench reads what saveBench or -o json wrote.
func readBench(name string) (bench.Result, error) {
	var r bench.Result
	file, err := os.Open(name)
	if err != nil {
		return r, err
	}
	defer file.Close()
	switch err := json.NewDecoder(io.LimitReader(file, mostOfFile)).Decode(&r); {
	case err != nil:
		return r, fmt.Errorf("%s is no result of 'railhead bench': %w", name, err)
	case r.SchemaVersion < 1 || r.SchemaVersion > bench.ResultVersion:
		return r, fmt.Errorf("%s: its version is %d, and this railhead reads up to %d", name, r.SchemaVersion, bench.ResultVersion)
	case !r.Whole():
		return r, fmt.Errorf("%s: it speaks of pods or rails that are not in it", name)
	}
	return r, nil
}
