package fuzz

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestFuzz asserts that fuzz.sh runs every target of a module, also after one that fails, and lists what failed.
func TestFuzz(t *testing.T) {
	const target = `package fuzzed

import "testing"

func NAME(f *testing.F) {
	f.Add("seed")
	f.Fuzz(func(t *testing.T, text string) {
		if BROKEN {
			t.Error("broken on", text)
		}
	})
}
`
	good := strings.NewReplacer("NAME", "FuzzGood", "BROKEN", "false").Replace(target)
	bad := strings.NewReplacer("NAME", "FuzzBad", "BROKEN", `text == "seed"`).Replace(target)
	for _, c := range []struct {
		name  string
		files map[string]string
		code  int
		says  []string
	}{
		{"one fails", map[string]string{"a/a_test.go": bad, "b/b_test.go": good}, 1,
			[]string{"== fuzzed/a FuzzBad", "== fuzzed/b FuzzGood", "2 fuzz targets, 20x each, 1 failed\nFAILED: fuzzed/a FuzzBad\n"}},
		{"none fails", map[string]string{"b/b_test.go": good}, 0, []string{"1 fuzz targets, 20x each, 0 failed\n"}},
		{"does not compile", map[string]string{"a/a_test.go": "package", "b/b_test.go": good}, 1, []string{"a/a_test.go:1:8: "}},
		{"no target", map[string]string{"b/b.go": "package fuzzed\n"}, 1, []string{"no fuzz target in "}},
	} {
		t.Run(c.name, func(t *testing.T) {
			folder := t.TempDir()
			c.files["go.mod"] = "module fuzzed\n\ngo 1.26.0\n"
			for name, text := range c.files {
				if err := os.MkdirAll(filepath.Join(folder, filepath.Dir(name)), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			cmd := exec.Command("./fuzz.sh", folder)
			cmd.Env = append(os.Environ(), "FUZZTIME=20x")
			out, _ := cmd.CombinedOutput() // the exit status is compared below
			if code := cmd.ProcessState.ExitCode(); code != c.code {
				t.Errorf("exit status %d, want %d", code, c.code)
			}
			for _, want := range c.says {
				if !strings.Contains(string(out), want) {
					t.Errorf("no %q in\n%s", want, out)
				}
			}
		})
	}
}
