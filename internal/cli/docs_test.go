package cli

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/railhead/railhead/internal/kube"
)

var (
	shellBlock = regexp.MustCompile("(?s)```(?:sh|console)\n(.*?)```")
	inlineCode = regexp.MustCompile("`(railhead [^`|\\\\]+)") // up to a pipe
	ofRailhead = regexp.MustCompile(`(?:^|[|;&] *|\$ )(railhead [^|;&#>]+)`)
)

// TestDocumentedCommands: every command line of the guides has a command and flags that exist.
func TestDocumentedCommands(t *testing.T) {
	pages := []string{"../../README.md"}
	err := filepath.WalkDir("../../docs", func(path string, _ fs.DirEntry, err error) error {
		if filepath.Ext(path) == ".md" {
			pages = append(pages, path)
		}
		return err
	})
	if err != nil || len(pages) < 200 {
		t.Fatal(len(pages), err)
	}
	found := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range commandLines(string(text)) {
			found++
			if err := parses(line); err != nil {
				t.Errorf("%s: %s: %v", filepath.Base(page), line, err)
			}
		}
	}
	if found < 400 {
		t.Errorf("only %d command lines were found", found)
	}
	if parses("railhead deploy h-kim --nodse 2") == nil || parses("railhead undo") == nil {
		t.Error("a wrong command line passes")
	}
}

// commandLines returns the command lines of railhead in a page: those in blocks for a shell, and in the text.
func commandLines(page string) []string {
	var all []string
	for _, m := range inlineCode.FindAllStringSubmatch(page, -1) {
		all = append(all, strings.ReplaceAll(m[1], "\n", " "))
	}
	for _, block := range shellBlock.FindAllStringSubmatch(page, -1) {
		for line := range strings.Lines(strings.ReplaceAll(block[1], "\\\n", " ")) {
			for _, m := range ofRailhead.FindAllStringSubmatch(line, -1) {
				all = append(all, m[1])
			}
		}
	}
	return all
}

// parses returns an error if a command line has no command or a flag that does not exist.
func parses(line string) error {
	line, _, _ = strings.Cut(line, " -- ")
	line = strings.NewReplacer("'", "", `"`, "", "...", "", "[", "", "]", "", "\\", "").Replace(line)
	app := &app{version: "devel", flags: &kube.Flags{}}
	root := app.root("railhead")
	root.InitDefaultCompletionCmd()
	command, args, err := root.Find(strings.Fields(line)[1:])
	if err != nil {
		return err
	}
	command.InitDefaultVersionFlag()
	err = command.ParseFlags(args)
	if errors.Is(err, pflag.ErrHelp) {
		return nil
	}
	var missing *pflag.ValueRequiredError // a flag that a sentence names without its value
	if errors.As(err, &missing) {
		return nil
	}
	return err
}
