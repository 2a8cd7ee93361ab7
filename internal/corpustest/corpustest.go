// Package corpustest finds the corpus for tests: what programs printed on machines of other people.
package corpustest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Variable names a folder with more files, whose kinds lie in folders of the same names as in testdata/corpus.
const Variable = "RAILHEAD_CORPUS"

// Folder returns the folder of a kind in the repository: nccl, pods, machines.
func Folder(t testing.TB, kind string) string {
	t.Helper()
	for dir := "."; len(dir) < 20; dir += "/.." {
		if _, err := os.Stat(dir + "/go.mod"); err == nil {
			return filepath.Join(dir, "testdata", "corpus", kind)
		}
	}
	t.Fatal("no go.mod above the test")
	return ""
}

// Folders returns the folder of a kind in the repository, and the one below RAILHEAD_CORPUS if it is set and has one.
func Folders(t testing.TB, kind string) []string {
	t.Helper()
	folders := []string{Folder(t, kind)}
	root := os.Getenv(Variable)
	if root == "" {
		return folders
	}
	if !filepath.IsAbs(root) {
		t.Fatalf("%s=%s: tests run in their own folders, so the path must be absolute", Variable, root)
	}
	if more := filepath.Join(root, kind); isFolder(more) {
		folders = append(folders, more)
	}
	return folders
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// Files returns the files of a kind in all folders, without their index.
func Files(t testing.TB, kind string) []string {
	t.Helper()
	var files []string
	for _, folder := range Folders(t, kind) {
		entries, err := os.ReadDir(folder)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if e.Name() != "index.tsv" {
				files = append(files, filepath.Join(folder, e.Name()))
			}
		}
	}
	return files
}

// Index returns the rows of a folder's index.tsv, by the names of its columns.
func Index(t testing.TB, folder string) []map[string]string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(folder, "index.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	var columns []string
	var rows []map[string]string
	for line := range strings.Lines(string(data)) {
		fields := strings.Split(strings.TrimRight(line, "\r\n"), "\t")
		if columns == nil {
			columns = fields
			continue
		}
		if len(fields) != len(columns) {
			t.Fatalf("%s: %d fields in %q, want %d", folder, len(fields), line, len(columns))
		}
		row := map[string]string{}
		for i, name := range columns {
			row[name] = fields[i]
		}
		rows = append(rows, row)
	}
	if len(rows) == 0 {
		t.Fatalf("%s: the index is empty", folder)
	}
	return rows
}
