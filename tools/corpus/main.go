// Corpus writes testdata/corpus: what programs printed on machines of other people, with every name replaced.
//
//	go run ./tools/corpus FROM TO [ARCHIVE...]
//
// FROM has logs and outputs as they were found, each kind in a folder with an index.tsv. It is not in the repository.
// An archive is the captured root of a machine. The folders of TO are made anew, and the same input gives the same
// bytes.
//
// Words are allow-listed: a word stays if words.txt has it, and every other word becomes one of the spelling alphabet.
// The program lists the words that it replaced. Those that name nobody belong into words.txt.
//
// A file is left out if Railhead says something else of it afterwards.
package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "corpus:", err)
		os.Exit(1)
	}
}

func run(args []string, stdout io.Writer) error {
	if len(args) < 2 {
		return errors.New("name the folder to read and the folder to write")
	}
	m := maker{from: args[0], to: args[1], words: knownWords(), unknown: map[string]int{}}
	defer m.report(stdout)
	for _, k := range kinds {
		if err := m.make(k); err != nil {
			return err
		}
	}
	return m.makeMachines(args[2:])
}

// maker makes the corpus.
type maker struct {
	from, to string
	words    words
	unknown  map[string]int // how often each word was replaced
	left     []string       // files that were left out, and why
	files    int
	bytes    int
}

// make writes the files of a kind, and their index.
func (m *maker) make(k kind) error {
	index, err := readIndex(filepath.Join(m.from, k.folder, "index.tsv"))
	if err != nil {
		return err
	}
	if err := os.RemoveAll(filepath.Join(m.to, k.folder)); err != nil {
		return err
	}
	kept := index.head()
	for _, row := range index.rows {
		file := index.value(row, "file")
		data, err := os.ReadFile(filepath.Join(m.from, k.folder, file))
		if err != nil {
			return err
		}
		text, r := k.redact(m.words, string(data))
		if reason := changed(k.verdict(string(data)), k.verdict(text)); reason != "" {
			m.left = append(m.left, k.folder+"/"+file+": "+reason)
			continue
		}
		for word, n := range r.unknown {
			m.unknown[word] += n
		}
		name := m.words.fileName(file)
		if err := m.write(filepath.Join(k.folder, name), text); err != nil {
			return err
		}
		kept.rows = append(kept.rows, index.labels(row, name, m.words))
	}
	return m.write(filepath.Join(k.folder, "index.tsv"), kept.String())
}

// changed returns why a file cannot stay, "" if it can.
func changed(before, after string) string {
	switch {
	case before == "":
		return "Railhead reads nothing in it"
	case before != after:
		return fmt.Sprintf("%s became %s", before, after)
	}
	return ""
}

// write writes a new file.
func (m *maker) write(name, text string) error {
	path := filepath.Join(m.to, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	m.files++
	m.bytes += len(text)
	_, err = file.WriteString(text)
	return errors.Join(err, file.Close())
}

func (m *maker) report(w io.Writer) {
	for _, word := range slices.Sorted(maps.Keys(m.unknown)) {
		fmt.Fprintf(w, "replaced %4d times: %s\n", m.unknown[word], word)
	}
	for _, left := range m.left {
		fmt.Fprintln(w, "left out:", left)
	}
	fmt.Fprintf(w, "%d files, %d bytes; %d left out\n", m.files, m.bytes, len(m.left))
}
