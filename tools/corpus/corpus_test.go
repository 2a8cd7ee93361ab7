package main

import (
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/railhead/railhead/internal/corpustest"
)

const corpus = "../../testdata/corpus"

// mostBytes bounds the corpus, which everyone who clones the repository gets.
const mostBytes = 3_000_000

// TestCorpusIsIndexed: every file is in the index of its folder and the reverse, and all are at most 3 MB.
func TestCorpusIsIndexed(t *testing.T) {
	folders, err := os.ReadDir(corpus)
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range folders {
		if !folder.IsDir() {
			continue
		}
		var indexed, there []string
		for _, row := range corpustest.Index(t, filepath.Join(corpus, folder.Name())) {
			indexed = append(indexed, filepath.Join(corpus, folder.Name(), row["file"]))
		}
		there = corpusFiles(t, folder.Name())
		slices.Sort(indexed)
		if !slices.Equal(indexed, there) {
			t.Errorf("%s: the index has %q, the folder %q", folder.Name(), indexed, there)
		}
	}
	var bytes int64
	err = filepath.WalkDir(corpus, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		bytes += info.Size()
		return err
	})
	if err != nil || bytes > mostBytes {
		t.Errorf("%d bytes, at most %d: %v", bytes, mostBytes, err)
	}
}

// corpusFiles returns the files of a folder, or of all, without indexes.
func corpusFiles(t *testing.T, folder string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(corpus, folder, "*"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(files, func(f string) bool { return filepath.Base(f) == "index.tsv" })
}

// TestNothingIsLeft: no file has a word that is neither in the list nor of the spelling alphabet, an address that is
// somebody's, or a date of the original.
func TestNothingIsLeft(t *testing.T) {
	w := knownWords()
	files := corpusFiles(t, "*")
	if len(files) < 140 {
		t.Fatalf("%d files", len(files))
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text := string(data)
		nameless(t, file, w, text)
		for _, address := range dotted.FindAllString(text, -1) {
			if a, err := netip.ParseAddr(address); err == nil && !a.IsPrivate() && !within(a, kept) && !within(a, documented) {
				t.Errorf("%s: address %s", file, address)
			}
		}
		for _, at := range regexp.MustCompile(`\S*@\S*`).FindAllString(text, -1) {
			if !strings.HasPrefix(at, "user@node-1") {
				t.Errorf("%s: %s", file, at)
			}
		}
		for _, year := range regexp.MustCompile(`\b20[0-3]\d[-:/](?:0\d|1[0-2])[-:/][0-3]\d\b`).FindAllString(text, -1) {
			if !strings.HasPrefix(year, "2026") {
				t.Errorf("%s: date %s", file, year)
			}
		}
	}
}

// documented are networks that belong to nobody.
var documented = []string{"203.0.113.0/24", "198.51.100.0/24", "192.0.2.0/24", "100.64.0.0/10"}

// TestIndexesNameNobody: the same for the columns of the indexes, but for the public places that they cite.
func TestIndexesNameNobody(t *testing.T) {
	w := knownWords()
	for _, index := range []string{"bench", "machines", "nccl", "nccl2", "nccl3", "outputs", "pcidevice", "pods"} {
		for _, row := range corpustest.Index(t, filepath.Join(corpus, index)) {
			for column, text := range row {
				if column != "source" {
					nameless(t, index+"/index.tsv", w, text)
				} else if text != "-" && citation(text) != text && strings.Count(text, "/") != 1 {
					t.Errorf("%s: source %q", index, text)
				}
			}
		}
	}
}

func nameless(t *testing.T, file string, w words, text string) {
	t.Helper()
	for _, mixed := range compact.FindAllString(text, -1) {
		if number.MatchString(mixed) {
			continue
		}
		for _, word := range token.FindAllString(mixed, -1) {
			lower := strings.ToLower(word)
			if !unicode.IsDigit(rune(word[0])) && !w.known(word) && !isStandIn(lower) && !gluedName(w, lower) {
				t.Errorf("%s: %q", file, word)
			}
		}
	}
}

// gluedName reports whether a word is the end of a line and the beginning of the host's name in the next, which may be
// hexadecimal.
func gluedName(w words, word string) bool {
	if rest := strings.TrimRight(word, "abcdef"); rest != word && w.known(rest) {
		return true
	}
	for _, name := range []string{"node", "train"} {
		if rest, ok := strings.CutSuffix(word, name); ok && (w.known(rest) || isStandIn(rest)) {
			return true
		}
	}
	return false
}
