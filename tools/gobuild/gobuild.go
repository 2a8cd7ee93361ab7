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

// Flags returns the flags for programs that live for minutes. Without inlining and DWARF the compiler takes two thirds
// of its time; without optimization (-N) it takes as long, and the programs are slower. The build cache shares a
// package between two programs only if both are built with the same flags.
func Flags() []string {
	return []string{"-trimpath", "-buildvcs=false", "-gcflags=all=-l -dwarf=false"}
}

// Program is a program to build.
type Program struct {
	Name    string   // in the lines of progress
	Folder  string   // of its module, or below it; "" is the working folder
	Package string   // as the go command takes it
	Output  string   // the file to write
	LDFlags string   // for the linker, besides -s -w
	Flags   []string // of go build, besides those of function Flags
	Env     []string // besides the environment of this process
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
	args := append([]string{"list", "-deps", "-f", "{{.ImportPath}}"}, p.flags()...)
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
	args := append([]string{"build", "-v", "-o", part, "-ldflags=-s -w " + p.LDFlags}, p.flags()...)
	if _, err := p.run(ctx, progress.compiles, append(args, p.Package)...); err != nil {
		return err
	}
	return os.Rename(part, output)
}

func (p Program) flags() []string { return append(Flags(), p.Flags...) }

func (p Program) run(ctx context.Context, progress func(string) bool, args ...string) (string, error) {
	return Command{Folder: p.Folder, Env: p.Env, Progress: progress}.Run(ctx, args...)
}
