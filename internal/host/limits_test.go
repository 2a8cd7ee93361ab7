package host

import (
	"os"
	"strings"
	"testing"

	"github.com/docker/go-units"
)

// CRI-O's entries are accepted as its own parser does.
func TestIsUlimit(t *testing.T) {
	for _, entry := range []string{
		"memlock=-1:-1", "memlock=-1", "memlock=65536:65536", "memlock=8388608", "memlock=0:-1", "memlock=8388608:4096",
		"memlock=-1:8388608", "memlock=unlimited:unlimited", "memlock=unlimited", "memlock=infinity", "memlock=8M",
		"memlock=-1:-1:-1", "memlock=", "memlock", "foo=1:2", "nofile=1:2", "MEMLOCK=1:2",
		" memlock=1:2", "memlock=1: 2",
		"core memlock=1", "=1", "memlock=+1:2", "memlock=9223372036854775808",
	} {
		_, err := units.ParseUlimit(entry)
		if got := IsUlimit(entry); got != (err == nil) {
			t.Errorf("%q: %t, CRI-O says %v", entry, got, err)
		}
	}
}

// TestIsSystemdLimit compares with systemd-analyze verify of systemd 252. The reader of units strips blanks at both
// ends.
func TestIsSystemdLimit(t *testing.T) {
	answers, err := os.ReadFile("testdata/memlock.tsv")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(answers)) {
		text, answer, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if got := IsSystemdLimit(strings.Trim(text, " ")); got != (answer == "accepted") {
			t.Errorf("%q: %t, systemd says %s", text, got, answer)
		}
	}
}
