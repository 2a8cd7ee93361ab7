package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/railhead/railhead/internal/bench"
)

// saveBench keeps a result as JSON in one line: of a large matrix every line is a number otherwise. Who reads the
// file meanwhile sees the old or the new one.
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

// readBench reads a file of saveBench or -o json.
func readBench(name string) (bench.Result, error) {
	file, err := os.Open(name)
	if err != nil {
		return bench.Result{}, err
	}
	defer file.Close()
	r, err := bench.ReadResult(io.LimitReader(file, mostOfFile))
	if err != nil {
		return r, fmt.Errorf("%s: %w", name, err)
	}
	return r, nil
}
