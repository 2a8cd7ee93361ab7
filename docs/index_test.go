package docs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

// TestStartPage runs the session of the start page on the log that it is about.
func TestStartPage(t *testing.T) {
	page, err := os.ReadFile("index.md")
	if err != nil {
		t.Fatal(err)
	}
	recording, err := txtar.ParseFile("../testdata/logs/hca-filter.txtar")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "train.log"), recording.Files[0].Data, 0o600); err != nil {
		t.Fatal(err)
	}
	_, session, _ := strings.Cut(string(page), "```console\n")
	session, _, _ = strings.Cut(session, "```\n")
	commands := regexp.MustCompile(`(?m)^\$ (.*)$`).FindAllStringSubmatch(session, -1)
	if len(commands) != 2 {
		t.Fatalf("%d commands in\n%s", len(commands), session)
	}
	var got strings.Builder
	for _, c := range commands {
		shell := exec.Command("sh", "-c", c[1])
		shell.Dir = folder
		text, _ := shell.CombinedOutput() // grep finds nothing and exits 1
		got.WriteString(c[0] + "\n" + string(text))
	}
	if diff := cmp.Diff(session, got.String()); diff != "" {
		t.Errorf("docs/index.md (-page +real):\n%s", diff)
	}
}
