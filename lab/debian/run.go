package debian

import (
	"context"
	"os/exec"
	"path"
	"path/filepath"
)

// Folders of a tree.
const (
	libraries = "usr/lib/x86_64-linux-gnu"
	loader    = libraries + "/ld-linux-x86-64.so.2"
)

// Path is where a file of the tree is: Path("usr/bin/bash").
func (t Tree) Path(name string) string { return filepath.Join(t.Dir, name) }

// Argv is how to run a program of the tree on the host, whatever the host's own C library is: the tree's loader with the
// tree's libraries. The program sees the host's files, and what it starts itself must run without the tree's libraries.
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
