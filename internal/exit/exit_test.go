package exit

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestPage asserts that docs/exit-codes.md shows the table.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/exit-codes.md")
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	want.WriteString("| code | name | commands | meaning |\n|---|---|---|---|\n")
	for _, r := range Table() {
		fmt.Fprintf(&want, "| %d | %s | %s | %s |\n", r.Code, r.Name, cmp.Or(r.Commands, "all"), r.Meaning)
	}
	if !strings.Contains(string(page), "\n"+want.String()+"\n") {
		t.Errorf("docs/exit-codes.md needs this table:\n%s", want.String())
	}
}

func TestTable(t *testing.T) {
	byCode := func(a, b Row) int { return cmp.Compare(a.Code, b.Code) }
	if table := Table(); !slices.IsSortedFunc(table, byCode) || len(slices.CompactFunc(table, func(a, b Row) bool {
		return a.Code == b.Code || a.Name == b.Name
	})) != len(Table()) {
		t.Error("codes are not sorted, or one appears twice")
	}
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
}
