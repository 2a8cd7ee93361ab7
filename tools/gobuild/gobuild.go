// Package gobuild builds programs with the go command and says how far it is.
package gobuild

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Every is the time between two lines of progress.
const Every = 10 * time.Second

// quick returns the flags for programs that live for minutes. Without inlining and DWARF the compiler takes two thirds
// of its time; without optimization (-N) it takes as long, and the programs are slower. The build cache shares a
// package between two programs only if both are built with the same flags.
func quick() []string {
	return []string{"-trimpath", "-buildvcs=false", "-gcflags=all=-l -dwarf=false"}
}

// asTests returns the flags for programs that tests run for long. What tests import, too, is compiled once.
func asTests() []string { return []string{"-buildvcs=false"} }

// Program is a program to build.
type Program struct {
	Name    string   // in the lines of progress
	Folder  string   // of its module, or below it; "" is the working folder
	Package string   // as the go command takes it
	Output  string   // the file to write
	LDFlags string   // for the linker, besides -s -w
	Flags   []string // of go build, besides those that AsTests chooses
	Env     []string // besides the environment of this process
	AsTests bool     // it is built as tests are, not as quickly as possible
}

// Build builds the program. It gives say a line at least once every Every until it is done. The file is there when it
// is whole: an interrupted build leaves the old one, or none.
func (p Program) Build(ctx context.Context, say func(line string)) error {
	if err := p.build(ctx, newProgress(p.Name, say)); err != nil {
		return fmt.Errorf("build %s: %w", p.Name, err)
	}
	return nil
}

// Download downloads the modules that the program needs, without a word.
func (p Program) Download(ctx context.Context) error {
	_, err := p.list(ctx, nil)
	return err
}

// list returns the packages that the program consists of, one a line.
func (p Program) list(ctx context.Context, progress func(string) bool) (string, error) {
	args := append([]string{"list", "-deps", "-f", "{{.ImportPath}}"}, p.BuildFlags()...)
	return p.run(ctx, progress, append(args, p.Package)...)
}

func (p Program) build(ctx context.Context, progress *progress) error {
	defer progress.stop()
	output, err := filepath.Abs(p.Output)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(output), 0o755); err != nil {
		return err
	}
	packages, err := p.list(ctx, progress.downloads)
	if err != nil {
		return err
	}
	progress.expect(packages)
	part := output + ".part"
	defer os.Remove(part)
	args := append([]string{"build", "-v", "-o", part, "-ldflags=-s -w " + p.LDFlags}, p.BuildFlags()...)
	if _, err := p.run(ctx, progress.compiles, append(args, p.Package)...); err != nil {
		return err
	}
	return os.Rename(part, output)
}

// BuildFlags returns the flags of go build but -ldflags.
func (p Program) BuildFlags() []string {
	if p.AsTests {
		return append(asTests(), p.Flags...)
	}
	return append(quick(), p.Flags...)
}

func (p Program) run(ctx context.Context, progress func(string) bool, args ...string) (string, error) {
	return Command{Folder: p.Folder, Env: p.Env, Progress: progress}.Run(ctx, args...)
}
