package replay

import (
	"strings"
	"syscall"
	"testing"
)

func TestArchiveNames(t *testing.T) {
	a, err := Parse("note\n-- a/2..4 ! EINVAL --\n-- l -> a --\n-- f --\n\\-- not a name --\nx\n-- empty/ --\n")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.ReadFile("l/3"); err == nil || !strings.Contains(err.Error(), syscall.EINVAL.Error()) {
		t.Errorf("l/3: %v", err)
	}
	if data, err := a.ReadFile("f"); err != nil || string(data) != "-- not a name --\nx\n" {
		t.Errorf("f: %q, %v", data, err)
	}
	if got := a.Format(); !strings.Contains(got, "-- a/2..4 ! EINVAL --") {
		t.Errorf("format: %s", got)
	}
	for _, bad := range []string{"-- ../x --\n", "-- a ! EWHAT --\n", "-- a --\n-- a/b --\n", "-- a/0..99999 --\n"} {
		if _, err := Parse(bad); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}
