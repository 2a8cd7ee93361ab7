package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestScore scores a tool whose answers are files.
func TestScore(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"index.tsv": "file\tnetwork\tgdr\toutcome\taccept\tfamily\n" +
			"right\tIB,RoCE\t-\tfail\tmemlock,create-cq\t\n" +
			"right\tother:IBext_v8 (RoCE), no peer\t-\tfail\t\tmemlock\n" +
			"wrong\tSocket\tno\tfail,unknown\t-\t-\n",
		"right": `{"runs":[{"network":{"kind":"RoCE"},"outcome":"fail","causes":[{"id":"memlock"}]}]}`,
		"wrong": `{"runs":[{"network":{"kind":"Socket"},"gpuDirect":"yes","outcome":"ok"}]}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out strings.Builder
	if err := run([]string{"-explain", "cat", dir}, &out); err != nil {
		t.Fatal(err)
	}
	want := `wrong: gdr: want no, got yes
wrong: outcome: want fail,unknown, got ok
3 logs
  network    3 of   3  100.0 %
  gdr        0 of   1    0.0 %
  outcome    2 of   3   66.7 %
  accept     2 of   2  100.0 %
  failures called ok: 1 wrong
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

func TestScoreWithoutAnswers(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "index.tsv"), []byte("file\toutcome\nmissing\tok\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string][]string{
		"no folder":       nil,
		"no index":        {filepath.Join(dir, "nowhere")},
		"no output":       {"-explain", "true", dir},
		"no such command": {"-explain", "/nowhere/explain", dir},
	} {
		if err := run(args, &strings.Builder{}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
