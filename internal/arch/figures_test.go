package arch

import (
	"fmt"
	"go/ast"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// figure is a row of the table of figures in docs/architecture.md.
type figure struct {
	name  string
	value int
}

// figuresOf returns the figures of the programs and their packages, without tests.
func figuresOf(packages []pkg) []figure {
	count, files, lines := 0, 0, 0
	var lengths []int
	for _, p := range packages {
		if p.origin != own || !strings.HasPrefix(p.path, "internal/") && !strings.HasPrefix(p.path, "cmd/") ||
			len(p.files) == 0 {
			continue
		}
		count++
		for _, f := range p.files {
			files++
			lines += f.set.Position(f.tree.End()).Line
			for _, d := range f.tree.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
					lengths = append(lengths, f.set.Position(fn.End()).Line-f.set.Position(fn.Pos()).Line+1)
				}
			}
		}
	}
	slices.Sort(lengths)
	at := func(percent int) int {
		if len(lengths) == 0 {
			return 0
		}
		return lengths[(len(lengths)-1)*percent/100]
	}
	return []figure{
		{"packages", count}, {"files", files}, {"lines", lines}, {"functions", len(lengths)},
		{"lines of a function, median", at(50)}, {"lines of a function, 90 of 100 have at most", at(90)},
		{"types with more than 25 methods", len(tooLarge)},
	}
}

// figures asserts that the document's table has the figures, within a tenth.
func figures(packages []pkg, document string) (broken []string) {
	for _, f := range figuresOf(packages) {
		row := regexp.MustCompile(`(?m)^\| ` + f.name + ` \| ([\d,]+) \|$`).FindStringSubmatch(document)
		told := 0
		if row != nil {
			told, _ = strconv.Atoi(strings.ReplaceAll(row[1], ",", ""))
		}
		if off := told - f.value; max(off, -off)*10 > f.value {
			broken = append(broken,
				fmt.Sprintf("docs/architecture.md: the row %q says %d: it is %d", f.name, told, f.value))
		}
	}
	return broken
}

func TestFigures(t *testing.T) {
	row := func(n int) string { return fmt.Sprintf("| types with more than 25 methods | %d |", n) }
	for document, want := range map[string]int{"": 1, row(len(tooLarge)): 0, row(len(tooLarge) + 1): 1} {
		if broken := figures(nil, document); len(broken) != want {
			t.Errorf("%q: %q", document, broken)
		}
	}
}
