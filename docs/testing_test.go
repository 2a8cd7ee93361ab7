package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestFigures: the repository has as many tests and recordings as the page says, and not twice as many.
func TestFigures(t *testing.T) {
	_, faults, _ := strings.Cut(read(t, "lab.md"), "## The faults\n")
	faults, _, _ = strings.Cut(faults, "\n## ")
	sources := testSources(t)
	counts := map[string]int{
		"test functions":           matches(`(?m)^func Test\w+\(t \*testing\.T\)`, sources),
		"fuzz targets":             matches(`(?m)^func Fuzz\w+\(f \*testing\.F\)`, sources),
		"recorded machines":        files(t, "../testdata/hosts/*.txtar"),
		"recorded connections":     files(t, "../testdata/wire/*.json"),
		"log fixtures":             files(t, "../testdata/logs/*.txtar"),
		"files of other people":    files(t, "../testdata/corpus/*/*") - files(t, "../testdata/corpus/*/index.tsv"),
		"logs of broken trainings": files(t, "../testdata/gpu/*.log.gz"),
		"golden files": files(t, "../testdata/golden/*", "../testdata/wire/*.txt", "../testdata/logs/*.json",
			"../internal/plan/*/testdata/*.yaml", "../internal/plan/*/testdata/*/*.yaml", "../internal/report/html/testdata/*"),
		"pages of checks":    files(t, "checks/*.md"),
		"faults of machines": matches(`(?m)^\| [a-z]+(-[a-z]+)* \| [^|]+ \| [^|]+ \|`, faults) - 1, // without the first row
	}
	rows := regexp.MustCompile(`(?m)^\| ([a-z ]+) \| ([\d,]+) \|`).FindAllStringSubmatch(read(t, "testing.md"), -1)
	if len(rows) != len(counts) {
		t.Errorf("%d figures on the page, want %d", len(rows), len(counts))
	}
	for _, row := range rows {
		figure, err := strconv.Atoi(strings.ReplaceAll(row[2], ",", ""))
		if count := counts[row[1]]; err != nil || count < figure || count > 2*figure {
			t.Errorf("testing.md says at least %s %s, and there are %d", row[2], row[1], count)
		}
	}
}

// testSources returns the text of all files with tests.
func testSources(t *testing.T) string {
	t.Helper()
	var text strings.Builder
	err := filepath.WalkDir("..", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, "_test.go") {
			return err
		}
		source, err := os.ReadFile(name)
		text.Write(source)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return text.String()
}

func matches(pattern, text string) int {
	return len(regexp.MustCompile(pattern).FindAllStringIndex(text, -1))
}

func files(t *testing.T, patterns ...string) int {
	t.Helper()
	count := 0
	for _, p := range patterns {
		found, err := filepath.Glob(p)
		if err != nil {
			t.Fatal(err)
		}
		count += len(found)
	}
	return count
}
