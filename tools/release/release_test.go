package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// dist returns the folder with a packed release and its version: the real one of $RELEASE_DIST, which `make
// release-check` sets, or one of stand-ins, small scripts that know --help, --version and completion.
func dist(t *testing.T) (folder, version string) {
	t.Helper()
	if folder := os.Getenv("RELEASE_DIST"); folder != "" {
		return folder, os.Getenv("RELEASE_VERSION")
	}
	folder = t.TempDir()
	if err := standIn(t).pack(folder); err != nil {
		t.Fatal(err)
	}
	return folder, "v1.2.3-rc.1"
}

const help = `It does a thing with a \ and a - in
two lines.

  - one
  .two

Usage:
  NAME [flags]

Examples:
  NAME   do it

Available Commands:
  help      not a page
  long-name with one space

Flags:
  -h, --help   help for it,
               on two lines
`

func standIn(t *testing.T) release {
	t.Helper()
	programs := t.TempDir()
	for _, p := range []string{"linux-amd64", "linux-arm64", "darwin-amd64", "darwin-arm64", "windows-amd64"} {
		names := []string{"railhead"}
		switch {
		case strings.HasPrefix(p, "linux"):
			names = append(names, "railhead-pod")
		case strings.HasPrefix(p, "windows"):
			names = []string{"railhead.exe"}
		}
		for _, name := range names {
			script := "#!/bin/sh\ncase $1 in\n--version) echo " + name + " version v1.2.3-rc.1 ;;\n" +
				"completion) echo complete for $2 ;;\nlong-name) printf 'It is.\\n\\nUsage:\\n  long-name\\n' ;;\n*) cat <<'EOF'\n" + strings.ReplaceAll(help, "NAME", name) + "EOF\nesac\n"
			if err := write(filepath.Join(programs, p, name), []byte(script)); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(filepath.Join(programs, p, name), 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	r := release{
		version: "v1.2.3-rc.1", commit: strings.Repeat("a", 40), home: "https://example.com/railhead",
		image: "registry.example/railhead", at: time.Unix(1_700_000_000, 0).UTC(),
		documents: []file{{"LICENSE", 0o644, []byte("licence")}, {"LICENSES-OF-MODULES", 0o644, []byte("licences")},
			{"README.md", 0o644, []byte("read me")}},
	}
	r.imageDocuments = r.documents
	if err := r.readPrograms(programs); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestSameBytesTwice(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	for _, folder := range []string{first, second} {
		if err := standIn(t).pack(folder); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("diff", "-r", first, second).CombinedOutput(); err != nil {
		t.Errorf("%s", out)
	}
	if found, err := readFilesIn(first); err != nil || len(found) != 11 {
		t.Errorf("%d files: %q, %v", len(found), found, err)
	}
}

func TestCheck(t *testing.T) {
	hash := strings.Repeat("0", 40)
	for _, c := range []struct {
		version, commit string
		ok              bool
	}{
		{"v1.2.3", hash, true},
		{"v1.2.3-rc.1", hash + "-dirty", true},
		{"v1.2.3", hash + "-dirty", false},
		{"1.2.3", hash, false},
		{"v1.2", hash, false},
		{"v1.2.3+build", hash, false},
		{"v1.2.3", "", false},
		{"", hash, false},
	} {
		if err := (release{version: c.version, commit: c.commit}).check(); (err == nil) != c.ok {
			t.Errorf("%q at %q: %v", c.version, c.commit, err)
		}
	}
}

func TestRoff(t *testing.T) {
	p := parseHelp(help)
	p.path, p.short = []string{"railhead", "try"}, "try it"
	got := p.roff("v1", time.Unix(0, 0).UTC())
	want := `.TH "RAILHEAD\-TRY" 1 1970-01-01 "railhead v1" "User Commands"
.nh
.ad l
.SH NAME
railhead\-try \- try it
.SH SYNOPSIS
.nf
  NAME [flags]
.fi
.SH DESCRIPTION
.PP
It does a thing with a \e and a \- in
two lines.
.PP
.nf
  \- one
  .two
.fi
.SH EXAMPLES
.nf
  NAME   do it
.fi
.SH "COMMANDS"
.TP
\fBhelp\fR
not a page
.TP
\fBlong\-name\fR
with one space
.SH "FLAGS"
.TP
\fB\-h, \-\-help\fR
help for it, on two lines
.SH SEE ALSO
\fBrailhead\fR(1),
\fBrailhead\-try\-long\-name\fR(1)
`
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestAbsoluteLinks(t *testing.T) {
	page := "[a](docs/a.md) ![p](docs/p.svg) [b](https://x.example/) [c](#here) [d](docs/a.md#here)"
	got := string(absoluteLinks([]byte(page), "H/"))
	want := "[a](H/docs/a.md) ![p](H/docs/p.svg) [b](https://x.example/) [c](#here) [d](H/docs/a.md#here)"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// mustRun returns the output of a program that is installed; without it the test is skipped.
func mustRun(t *testing.T, env []string, name string, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath(name); errors.Is(err, exec.ErrNotFound) {
		t.Skipf("%v", err)
	}
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// wantVersion runs a program and compares the version that it prints.
func wantVersion(t *testing.T, program, version string) {
	t.Helper()
	if got := mustRun(t, nil, program, "--version"); !strings.HasSuffix(strings.TrimSpace(got), "version "+version) {
		t.Errorf("%s --version prints %q, want %s", program, got, version)
	}
}

// only returns the one file of dist that matches.
func only(t *testing.T, folder, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(folder, pattern))
	if err != nil || len(found) != 1 {
		t.Fatalf("%s: %q, %v", pattern, found, err)
	}
	return found[0]
}

func here() string { return fmt.Sprintf("%s_%s", runtime.GOOS, runtime.GOARCH) }
