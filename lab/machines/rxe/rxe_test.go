package rxe

import (
	"archive/tar"
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/lab/machines/debian"
)

// linux is an archive as linux-source has it.
func linux(t *testing.T, names ...string) *bytes.Buffer {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, name := range names {
		h := &tar.Header{Name: "linux-source-6.12/" + name, Mode: 0o644, Typeflag: tar.TypeReg, Size: int64(len(name))}
		if strings.HasSuffix(name, "/") {
			h.Typeflag, h.Size = tar.TypeDir, 0
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(name[:h.Size])); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil { // and no end: it is not read so far
		t.Fatal(err)
	}
	return &b
}

func TestExtract(t *testing.T) {
	folder := t.TempDir()
	archive := linux(t, "drivers/infiniband/sw/rdmavt/vt.c", sources+"/", sources+"/rxe.c",
		sources+"/sub/rxe.h", "drivers/infiniband/sw/siw/siw.c")
	if err := extract(archive, folder); err != nil {
		t.Fatal(err)
	}
	var got []string
	err := fs.WalkDir(os.DirFS(folder), ".", func(name string, d fs.DirEntry, err error) error {
		if !d.IsDir() {
			got = append(got, name)
		}
		return err
	})
	if diff := cmp.Diff([]string{sources + "/rxe.c", sources + "/sub/rxe.h"}, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if err := extract(linux(t, "drivers/infiniband/sw/siw/siw.c"), folder); err == nil ||
		!strings.Contains(err.Error(), "look for "+sources) {
		t.Errorf("a source without the driver: got %v", err)
	}
}

// TestPatches takes the patches' word for what they change: they are applied to what they say is there.
func TestPatches(t *testing.T) {
	patch, err := exec.LookPath("patch")
	if err != nil {
		t.Skip("no patch here")
	}
	patches, err := fs.Glob(recipe, "*.patch")
	if err != nil || !slices.IsSorted(patches) || len(patches) == 0 {
		t.Fatalf("got %q, %v", patches, err)
	}
	for _, p := range patches {
		text, err := recipe.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(string(text), "SPDX-License-Identifier: GPL-2.0") {
			t.Errorf("%s does not begin with its licence", p)
		}
		folder := t.TempDir()
		file, before := original(t, string(text))
		if err := write(filepath.Join(folder, file), []byte(before), 0o644); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(patch, "--strip=1", "--batch", "--directory", folder)
		cmd.Stdin = bytes.NewReader(text)
		if err := debian.Run(t.Context(), cmd); err != nil {
			t.Errorf("%s: %v", p, err)
		}
	}
}

// original is the one file that a patch changes, as far as the patch shows it.
func original(t *testing.T, patch string) (file, text string) {
	t.Helper()
	line := 1
	for l := range strings.Lines(patch) {
		switch {
		case strings.HasPrefix(l, "--- a/"):
			file = strings.TrimSpace(strings.TrimPrefix(l, "--- a/"))
		case file == "" || strings.HasPrefix(l, "+"):
		case strings.HasPrefix(l, "@@ -"):
			digits, _, _ := strings.Cut(strings.TrimPrefix(l, "@@ -"), ",")
			at, err := strconv.Atoi(digits)
			if err != nil {
				t.Fatal(err)
			}
			for ; line < at; line++ {
				text += "unknown\n"
			}
		default:
			text += l[1:]
			line++
		}
	}
	if !strings.HasPrefix(file, sources+"/") {
		t.Fatalf("a patch changes %q", file)
	}
	return file, text
}

func TestCompiler(t *testing.T) {
	tree := debian.Tree{Dir: t.TempDir()}
	headers := "usr/src/linux-headers-6.12.1-amd64"
	for name, text := range map[string]string{
		"usr/libexec/gcc/x86_64-linux-gnu/14/cc1": "", headers + "/Module.symvers": "symbols",
		"usr/lib/linux-kbuild-6.12.1/scripts/mod/modpost":     "\x7fELF",
		"usr/lib/linux-kbuild-6.12.1/scripts/setlocalversion": "#!/bin/sh\n",
	} {
		if err := write(tree.Path(name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../../lib/linux-kbuild-6.12.1/scripts", tree.Path(headers+"/scripts")); err != nil {
		t.Fatal(err)
	}
	b := build{kernel: tree, release: "6.12.1-amd64", folder: t.TempDir()}
	if err := b.compiler(); err != nil {
		t.Fatal(err)
	}
	gcc := "usr/bin/x86_64-linux-gnu-gcc-14"
	for name, want := range map[string]string{
		"tools/x86_64-linux-gnu-gcc-14":   tree.Script(tree.Path(gcc), gcc, "-B"+b.folder+"/tools/"),
		"tools/x86_64-linux-gnu-ld":       tree.Script("", "usr/bin/x86_64-linux-gnu-ld"),
		"tools/cc1":                       tree.Script("", "usr/libexec/gcc/x86_64-linux-gnu/14/cc1"),
		"headers/Module.symvers":          "symbols",
		"headers/scripts/mod/modpost":     tree.Script("", headers+"/scripts/mod/modpost"),
		"headers/scripts/setlocalversion": "#!/bin/sh\n",
	} {
		got, err := os.ReadFile(filepath.Join(b.folder, name))
		if diff := cmp.Diff(want, string(got)); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
	if err := os.RemoveAll(tree.Path("usr/libexec")); err != nil {
		t.Fatal(err)
	}
	if err := b.compiler(); err == nil || !strings.Contains(err.Error(), "one C compiler is wanted") {
		t.Errorf("without a compiler: got %v", err)
	}
}
