package gobuild

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// module writes a module with this main.go and returns a program of it.
func module(t *testing.T, source string) Program {
	t.Helper()
	folder := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example.invalid/tiny\n\ngo 1.26.0\n", "main.go": source,
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return Program{Name: "tiny", Folder: folder, Package: ".", Output: filepath.Join(folder, "bin", "tiny")}
}

const hello = "package main\n\nvar word = `hello`\n\nfunc main() { print(word) }\n"

func silent(string) {}

func TestBuild(t *testing.T) {
	p := module(t, hello)
	p.LDFlags = "-X main.word=stamped"
	if err := p.Build(t.Context(), silent); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(p.Output).CombinedOutput(); err != nil || string(out) != "stamped" {
		t.Errorf("got %q, %v", out, err)
	}
	onlyIn(t, p, "tiny")
}

// TestBuildFails: a build that fails or is interrupted leaves the program that was there, and says one cause.
func TestBuildFails(t *testing.T) {
	interrupted, stop := context.WithCancel(t.Context())
	stop()
	for name, test := range map[string]struct {
		ctx    context.Context
		source string
		want   string
	}{
		"does not compile": {t.Context(), "package main\n\nfunc main() { nosuch() }\n", "./main.go:3:15: undefined: nosuch"},
		"no such module":   {t.Context(), "package main\n\nimport _ \"example.invalid/x\"\n\nfunc main() {}\n", "example.invalid/x"},
		"interrupted":      {interrupted, hello, "build tiny: interrupted: context canceled"},
	} {
		t.Run(name, func(t *testing.T) {
			p := module(t, test.source)
			if err := os.Mkdir(filepath.Dir(p.Output), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(p.Output, []byte("the old one"), 0o600); err != nil {
				t.Fatal(err)
			}
			err := p.Build(test.ctx, silent)
			if err == nil || !strings.HasPrefix(err.Error(), "build tiny: ") || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
			if test.ctx.Err() != nil && !errors.Is(err, context.Canceled) {
				t.Errorf("not interrupted: %v", err)
			}
			if old, err := os.ReadFile(p.Output); string(old) != "the old one" {
				t.Errorf("the old program is %q, %v", old, err)
			}
			onlyIn(t, p, "tiny")
		})
	}
}

// onlyIn asserts what the folder of the output has.
func onlyIn(t *testing.T, p Program, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(p.Output))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

// TestProgress: a line at least every Every, whatever the go command does or does not say.
func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lines []string
		p := newProgress("tiny", func(line string) { lines = append(lines, line) })
		wait := first
		step := func(do func()) {
			do()
			<-time.After(wait)
			synctest.Wait()
			wait = Every
		}
		step(func() {})
		step(func() { p.downloads("go: downloading example.invalid/x v1.0.0") })
		step(func() { p.expect("example.invalid/x\nexample.invalid/tiny\n") })
		step(func() {
			if p.compiles("./main.go:3:15: undefined: nosuch") || !p.compiles("example.invalid/x") {
				t.Error("an error is progress, or a package is none")
			}
		})
		p.stop()
		if diff := cmp.Diff([]string{
			"building tiny: finding its packages, 3s",
			"building tiny: modules downloaded: 1, 13s",
			"building tiny: 0 of at most 2 packages, 23s",
			"building tiny: 1 of at most 2 packages, at example.invalid/x, 33s",
		}, lines); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestExplain(t *testing.T) {
	const (
		refused = "main.go:4:2: example.invalid/x@v1.0.0: reading https://proxy.invalid/x/@v/v1.0.0.zip: 403 Forbidden"
		full    = "compile: writing output: write $WORK/b065/_pkg_.a: no space left on device"
		network = "go: x@v1: Get \"https://proxy.invalid/x/@v/v1.info\": dial tcp: network is unreachable"
	)
	for name, test := range map[string]struct {
		said         []string
		advice, line string
	}{
		"no space":              {[]string{"# x", full}, "no space is left: make room", full},
		"no network":            {[]string{network}, "the proxy of Go modules does not answer: ", network},
		"one module is refused": {[]string{refused, refused}, "the proxy of Go modules does not serve that", refused},
		"the source":            {[]string{"# x", "./main.go:7:2: undefined: y"}, "", ""},
	} {
		advice, line, known := explain(test.said)
		if !strings.HasPrefix(advice, test.advice) || line != test.line || known != (test.line != "") {
			t.Errorf("%s: %q, %q", name, advice, line)
		}
	}
}
