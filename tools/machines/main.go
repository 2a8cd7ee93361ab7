// Command machines writes the recorded machines of testdata/hosts. They are made up, in the formats of the kernel, of
// the mlx5 driver and of the device plugins; what a real machine showed goes into a file of its own next to them
// (railhead-pod snapshot --raw).
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/railhead/railhead/internal/host/replay"
)

func main() {
	dir := "testdata/hosts"
	if len(os.Args) > 1 {
		dir = os.Args[1]
	}
	for name, describe := range catalogue {
		m := newMachine()
		describe(m)
		text, err := m.text()
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name+".txtar"), []byte(text), 0o644)
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "machines: %s: %v\n", name, err)
			os.Exit(1)
		}
	}
}

// text is the machine in the archive's own order and folding.
func (m *machine) text() (string, error) {
	archive, err := replay.Parse(sectionsOf(m))
	if err != nil {
		return "", err
	}
	archive.Comment = m.comment
	return archive.Format(), nil
}
