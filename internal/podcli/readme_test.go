package podcli

import (
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// fenced returns the contents of a page's code blocks in the given language.
func fenced(page, language string) []string {
	var blocks []string
	for _, m := range regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```$").FindAllStringSubmatch(page, -1) {
		blocks = append(blocks, m[1])
	}
	return blocks
}

// session is one command of a console block with what it printed.
type session struct{ command, output string }

func sessions(block string) []session {
	var all []session
	for line := range strings.Lines(block) {
		if command, ok := strings.CutPrefix(line, "$ "); ok {
			all = append(all, session{command: strings.TrimSpace(command)})
		} else if len(all) > 0 {
			all[len(all)-1].output += line
		}
	}
	return all
}

// TestSessions runs the console sessions of pages in the root of the repository, as their readers do.
func TestSessions(t *testing.T) {
	for _, page := range []string{"README.md", "docs/iommu.md"} {
		t.Run(page, func(t *testing.T) { runSessions(t, page) })
	}
}

func runSessions(t *testing.T, name string) {
	t.Helper()
	page, err := os.ReadFile("../../" + name)
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, block := range fenced(string(page), "console") {
		for _, s := range sessions(block) {
			if !strings.HasPrefix(s.command, "railhead-pod ") {
				continue
			}
			count++
			shell := exec.Command("sh", "-c", s.command)
			shell.Dir = "../.."
			got, err := shell.CombinedOutput()
			if err != nil {
				t.Errorf("%s: %v", s.command, err)
			}
			if diff := cmp.Diff(s.output, string(got)); diff != "" {
				t.Errorf("%s (-page +real):\n%s", s.command, diff)
			}
		}
	}
	if count == 0 {
		t.Error("no session of railhead-pod")
	}
}

// called matches a command line up to a pipe, a redirection, two blanks or the end of a quotation.
var (
	called  = regexp.MustCompile("railhead-pod((?: [^ \n|>)`\"]+)*)")
	comment = regexp.MustCompile(`(?m)#.*$`)
)

// accepts reports why the program would refuse a documented command line before doing anything.
func accepts(args []string) error {
	if len(args) == 0 || slices.Contains([]string{"help", "--help", "--version"}, args[0]) {
		return nil
	}
	c, err := find(args[0], Streams{Out: io.Discard, Err: io.Discard})
	if err == nil {
		_, err = c.parse(args[1:])
	}
	return err
}

// TestDocumentedCommandLines holds what the pages tell people to type against the commands and their flags.
func TestDocumentedCommandLines(t *testing.T) {
	pages := []string{"../../README.md"}
	err := filepath.WalkDir("../../docs", func(path string, _ fs.DirEntry, err error) error {
		if filepath.Ext(path) == ".md" {
			pages = append(pages, path)
		}
		return err
	})
	if err != nil || len(pages) < 200 {
		t.Fatalf("%d pages: %v", len(pages), err)
	}
	count := 0
	for _, name := range pages {
		page, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		text := strings.Join(append(fenced(string(page), "sh"), fenced(string(page), "console")...), "\n")
		for _, m := range called.FindAllStringSubmatch(comment.ReplaceAllString(text, ""), -1) {
			count++
			if err := accepts(strings.Fields(m[1])); err != nil {
				t.Errorf("%s: railhead-pod%s: %v", filepath.Base(name), m[1], err)
			}
		}
	}
	if count < 60 {
		t.Errorf("only %d command lines found", count)
	}
}

// TestExamples: every command shows examples, and the program takes them.
func TestExamples(t *testing.T) {
	shown := map[string]string{program: examples}
	for _, c := range commandTable {
		shown[c.name] = c.build(Streams{Out: io.Discard, Err: io.Discard}).example
	}
	for name, text := range shown {
		lines := called.FindAllStringSubmatch(text, -1)
		if len(lines) == 0 {
			t.Errorf("%s shows no example", name)
		}
		for _, m := range lines {
			if err := accepts(strings.Fields(m[1])); err != nil {
				t.Errorf("%s: example railhead-pod%s: %v", name, m[1], err)
			}
		}
	}
}
