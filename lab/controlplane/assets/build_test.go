package assets

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tiny returns a builder of one program whose module has the source, and the lines of its progress.
func tiny(t *testing.T, source string) (builder, *lines) {
	t.Helper()
	modules, progress := t.TempDir(), &lines{}
	write(t, filepath.Join(modules, "tiny", "go.mod"), "module example.invalid/tiny\n\ngo 1.26.0\n")
	write(t, filepath.Join(modules, "tiny", "main.go"), source)
	return builder{
		modules: modules, cache: t.TempDir(), progress: progress.add,
		recipes: map[Program]recipe{"tiny": {module: "tiny", pkg: ".", version: "example.invalid/tiny"}},
	}, progress
}

type lines struct {
	mu  sync.Mutex
	all []string
}

func (l *lines) add(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, line)
}

func (l *lines) count(prefix string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for _, line := range l.all {
		if strings.HasPrefix(line, prefix) {
			n++
		}
	}
	return n
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

const hello = "package main\n\nfunc main() { print(`hello`) }\n"

func TestBuild(t *testing.T) {
	b, progress := tiny(t, hello)
	var paths []string
	for range 2 {
		path, err := b.build(t.Context(), "tiny")
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	if paths[0] != paths[1] || progress.count("building") != 1 {
		t.Errorf("built twice: %q, %q", paths, progress.all)
	}
	if out, err := exec.Command(paths[0]).CombinedOutput(); err != nil || string(out) != "hello" {
		t.Errorf("got %q, %v", out, err)
	}
	write(t, filepath.Join(b.modules, "tiny", "main.go"), strings.ReplaceAll(hello, "hello", "changed"))
	path, err := b.build(t.Context(), "tiny")
	if err != nil {
		t.Fatal(err)
	}
	if path == paths[0] {
		t.Error("changed sources are built into the same place")
	}
}

func TestBuildAtOnce(t *testing.T) {
	b, progress := tiny(t, hello)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if _, err := b.build(t.Context(), "tiny"); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := progress.count("building"); n != 1 {
		t.Errorf("built %d times: %q", n, progress.all)
	}
}

func TestBuildError(t *testing.T) {
	b, _ := tiny(t, "package main\n\nfunc main() { nosuch() }\n")
	_, err := b.build(t.Context(), "tiny")
	if err == nil || !strings.Contains(err.Error(), "undefined: nosuch") {
		t.Errorf("the compiler's words are missing: %v", err)
	}
	if _, err := b.build(t.Context(), "other"); err == nil || err.Error() != "build other: no such program" {
		t.Errorf("got %v", err)
	}
	noPart(t, b)
}

func TestBuildInterrupted(t *testing.T) {
	b, _ := tiny(t, hello)
	ctx, cancel := context.WithCancel(t.Context())
	b.progress = func(string) { cancel() } // just before the compiler starts
	if _, err := b.build(ctx, "tiny"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	noPart(t, b)
	b.progress = func(string) {}
	if _, err := b.build(t.Context(), "tiny"); err != nil {
		t.Errorf("after an interrupted build: %v", err)
	}
}

// noPart asserts that only lock files are in the cache.
func noPart(t *testing.T, b builder) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(b.cache, "*", "*", "*"))
	if diff := cmp.Diff([]string(nil), found); err != nil || diff != "" {
		t.Errorf("left behind (-want +got):\n%s%v", diff, err)
	}
}

func TestLockWaits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	unlock, err := lock(t.Context(), path, func() {})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := lock(ctx, path, cancel); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	unlock()
	again, err := lock(t.Context(), path, func() { t.Error("waits for a lock that was given back") })
	if err != nil {
		t.Fatal(err)
	}
	again()
}

// TestBuildName: a name of a program of many names is a link to that program, which is built once.
func TestBuildName(t *testing.T) {
	b, progress := tiny(t, "package main\n\nimport \"os\"\n\nfunc main() { print(os.Args[0]) }\n")
	one := recipe{module: "tiny", within: "whole", pkg: ".", version: "example.invalid/tiny"}
	b.recipes = map[Program]recipe{"one": one, "two": one}
	for _, name := range []Program{"one", "two", "one"} {
		path, err := b.build(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command(path).CombinedOutput(); err != nil || string(out) != path {
			t.Errorf("got %q, %v", out, err)
		}
	}
	if n := progress.count("built whole"); n != 1 {
		t.Errorf("built %d times: %q", n, progress.all)
	}
}

func TestLDFlags(t *testing.T) {
	for program, want := range map[Program]string{
		Multus: "-X gopkg.in/k8snetworkplumbingwg/multus-cni.v4/pkg/multus.version=v1.36.3",
		APIServer: "-X k8s.io/component-base/version.gitVersion=v1.36.3" +
			" -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=36" +
			" -X k8s.io/component-base/version.gitTreeState=clean",
		Injector: "",
	} {
		if diff := cmp.Diff(want, recipes(true)[program].ldflags("v1.36.3")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", program, diff)
		}
	}
}

func TestCRDFiles(t *testing.T) {
	for set, want := range map[CRDs]int{
		Security:             1,
		Config:               4,
		MachineConfiguration: 8,
		SRIOV:                7,
		NVIDIA:               4,
		Networks:             1,
		IPPools:              2,
	} {
		files, err := CRDFiles(t.Context(), set)
		if err != nil {
			t.Error(err)
			continue
		}
		if len(files) != want {
			t.Errorf("%s: %d CRDs, want %d: %q", set, len(files), want, files)
		}
	}
	if _, err := CRDFiles(t.Context(), "nosuch"); err == nil {
		t.Error("an unknown set is no error")
	}
}
