package exit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPage asserts that docs/exit-codes.md lists every code once, in ascending order.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/exit-codes.md")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, row := range regexp.MustCompile(`(?m)^\| (\d+ \| [^|]*) \|`).FindAllStringSubmatch(string(page), -1) {
		got = append(got, row[1])
	}
	var want []string
	for _, c := range []struct {
		code Code
		name string
	}{
		{OK, "ok"},
		{Fault, "fault"},
		{Usage, "usage"},
		{Unknown, "unknown"},
		{Timeout, "timeout"},
		{Refused, "refused"},
		{CannotInvoke, "cannot invoke"},
		{NotFound, "not found"},
		{Interrupted, "interrupted"},
	} {
		want = append(want, fmt.Sprintf("%d | %s", c.code, c.name))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("docs/exit-codes.md (-want +got):\n%s", diff)
	}
}

func TestSignalled(t *testing.T) {
	if Signalled(2) != Interrupted {
		t.Errorf("Ctrl-C gives %d", Signalled(2))
	}
}

func TestError(t *testing.T) {
	var coded Error
	err := fmt.Errorf("more: %w", Failed(fs.ErrNotExist))
	if !errors.As(err, &coded) || coded.Code != Fault || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v is not found in %v", Failed(fs.ErrNotExist), err)
	}
	if !strings.Contains(err.Error(), fs.ErrNotExist.Error()) {
		t.Errorf("%v does not contain %v", err, fs.ErrNotExist)
	}
}
