// Package vuln tests vulncheck.sh with databases of its own.
package vuln

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// entry says that every version of pflag, which railhead-pod links, is vulnerable in one function.
const entry = `{"schema_version": "1.3.1", "id": "GO-2000-0001", "modified": "2000-01-01T00:00:00Z", "details": "made up",
"affected": [{"package": {"name": "github.com/spf13/pflag", "ecosystem": "Go"},
  "ranges": [{"type": "SEMVER", "events": [{"introduced": "0"}]}],
  "ecosystem_specific": {"imports": [{"path": "github.com/spf13/pflag", "symbols": ["FUNCTION"]}]}}],
"database_specific": {"url": "https://example.com/GO-2000-0001"}}`

// database writes a database in the form of https://go.dev/security/vuln/database, and returns its address.
func database(t *testing.T, modules, entry string) string {
	t.Helper()
	folder := t.TempDir()
	for name, text := range map[string]string{
		"index/db.json":        `{"modified": "2000-01-01T00:00:00Z"}`,
		"index/modules.json":   modules,
		"ID/GO-2000-0001.json": entry,
	} {
		file := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return "file://" + folder
}

func TestVulncheck(t *testing.T) {
	const pflag = `[{"path": "github.com/spf13/pflag", "vulns": [{"id": "GO-2000-0001", "modified": "2000-01-01T00:00:00Z"}]}]`
	for _, c := range []struct {
		name, database, target string
		code                   int
		says                   string
	}{
		{"empty database", database(t, "[]", ""), "./cmd/railhead-pod", 0, "No vulnerabilities found"},
		{"function that is called", database(t, pflag, strings.Replace(entry, "FUNCTION", "FlagSet.Parse", 1)),
			"./cmd/railhead-pod", 1, "GO-2000-0001"},
		{"function that is not called", database(t, pflag, strings.Replace(entry, "FUNCTION", "FlagSet.IPNetVarP", 1)),
			"./cmd/railhead-pod", 0, "your code doesn't appear to call"},
		{"no database", "file://" + t.TempDir() + "/gone", "./cmd/railhead-pod", 75, "NOT CHECKED"},
		{"no server", "http://127.0.0.1:1", "./cmd/railhead-pod", 75, "NOT CHECKED"},
		{"no such package", database(t, "[]", ""), "./cmd/gone", 1, "NOT CLEAN: ./cmd/gone"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cmd := exec.Command("./vulncheck.sh", "linux", ".", c.target)
			cmd.Env = append(os.Environ(), "VULNDB="+c.database)
			out, err := cmd.CombinedOutput()
			var exit *exec.ExitError
			if err != nil && !errors.As(err, &exit) {
				t.Fatal(err)
			}
			if code := cmd.ProcessState.ExitCode(); code != c.code || !strings.Contains(string(out), c.says) {
				t.Errorf("exit status %d, want %d and %q in\n%s", code, c.code, c.says, out)
			}
		})
	}
}
