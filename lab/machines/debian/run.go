package debian

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// Folders of a tree.
const (
	libraries = "usr/lib/x86_64-linux-gnu"
	loader    = libraries + "/ld-linux-x86-64.so.2"
)

// Path returns the path of a file of the tree: Path("usr/bin/bash").
func (t Tree) Path(name string) string { return filepath.Join(t.Dir, name) }

// Argv returns the command that runs a program of the tree on the host, whatever the host's C library: the tree's
// loader with the tree's libraries. The program sees the host's files; programs that it starts must run without the
// tree.
func (t Tree) Argv(program string, args ...string) []string {
	return append([]string{
		t.Path(loader), "--argv0", path.Base(program), "--library-path", t.Path(libraries), t.Path(program),
	}, args...)
}

// Command is Argv as a command.
func (t Tree) Command(ctx context.Context, program string, args ...string) *exec.Cmd {
	argv := t.Argv(program, args...)
	return exec.CommandContext(ctx, argv[0], argv[1:]...)
}

// Run runs a command to its end, or ctx's; an error has the last that it said.
func Run(ctx context.Context, cmd *exec.Cmd) error {
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = time.Second // its children may live on and hold its output
	err := cmd.Run()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", filepath.Base(cmd.Args[0]), err, lastLines(out.Bytes(), 20))
	}
	return nil
}

// Script is Argv as a shell script, for a program that other programs start. It hands its own arguments on behind args.
// The program believes to be argv0; "" is the script's own path.
func (t Tree) Script(argv0, program string, args ...string) string {
	name := `"$0"`
	if argv0 != "" {
		name = quote(argv0)
	}
	words := []string{
		"exec",
		quote(t.Path(loader)),
		"--argv0",
		name,
		"--library-path",
		quote(t.Path(libraries)),
		quote(t.Path(program)),
	}
	for _, a := range args {
		words = append(words, quote(a))
	}
	return fmt.Sprintf("#!/bin/sh\n%s \"$@\"\n", strings.Join(words, " "))
}

// quote makes one word of the shell of any text.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
