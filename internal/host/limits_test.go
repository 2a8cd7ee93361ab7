package host

import (
	"testing"

	"github.com/docker/go-units"
)

// CRI-O's entries are accepted as its own parser does.
func TestIsUlimit(t *testing.T) {
	for _, entry := range []string{
		"memlock=-1:-1", "memlock=-1", "memlock=65536:65536", "memlock=8388608", "memlock=0:-1", "memlock=8388608:4096",
		"memlock=-1:8388608", "memlock=unlimited:unlimited", "memlock=unlimited", "memlock=infinity", "memlock=8M",
		"memlock=-1:-1:-1", "memlock=", "memlock", "foo=1:2", "nofile=1:2", "MEMLOCK=1:2", " memlock=1:2", "memlock=1: 2",
		"core memlock=1", "=1", "memlock=+1:2", "memlock=9223372036854775808",
	} {
		_, err := units.ParseUlimit(entry)
		if got := IsUlimit(entry); got != (err == nil) {
			t.Errorf("%q: %t, CRI-O says %v", entry, got, err)
		}
	}
}

// The answers are those of systemd-analyze verify, systemd 252.
func TestIsSystemdLimit(t *testing.T) {
	for text, want := range map[string]bool{
		"infinity": true, "8M": true, "65536:infinity": true, "64K:1G": true, "0": true, "1.5G": true, "10B": true,
		"1G500M": true, "1 G": true, "010": true, "8388608": true,
		"unlimited": false, "-1": false, "max": false, "": false, "1G:64K": false, "100%": false, "8MB": false,
		"1KB": false, "5b": false, "8m": false, ".5G": false, "1e3": false, "8Mi": false, "0x10": false,
	} {
		if got := IsSystemdLimit(text); got != want {
			t.Errorf("%q: %t, systemd says %t", text, got, want)
		}
	}
}
