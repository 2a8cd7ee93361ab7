package debian

import (
	"archive/tar"
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// archived is a tar archive of the files; a name that ends in / is a folder.
func archived(t *testing.T, headers ...*tar.Header) *bytes.Buffer {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range headers {
		content := "content of " + h.Name
		if h.Typeflag == 0 {
			h.Typeflag, h.Size = tar.TypeReg, int64(len(content))
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeReg {
			if _, err := w.Write([]byte(content)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return &b
}

func TestExtract(t *testing.T) {
	folder := t.TempDir()
	if err := Unpack(t.Context(), nil, folder, nil); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	set := Set{Drop: []string{"usr/share/doc", "usr/lib/*.o"}}
	a := archived(t,
		&tar.Header{Name: "./", Typeflag: tar.TypeDir, Mode: 0o755},
		&tar.Header{Name: "./bin", Typeflag: tar.TypeSymlink, Linkname: "usr/bin"},
		&tar.Header{Name: "./lib/", Typeflag: tar.TypeDir, Mode: 0o755},
		&tar.Header{Name: "./lib/old.so.1", Mode: 0o644},
		&tar.Header{Name: "./usr/lib/x.o", Mode: 0o644},
		&tar.Header{Name: "./usr/lib/new.so", Typeflag: tar.TypeSymlink, Linkname: "old.so.1"},
		&tar.Header{Name: "./usr/bin/su", Mode: 0o4755},
		&tar.Header{Name: "./usr/bin/again", Typeflag: tar.TypeLink, Linkname: "./usr/bin/su"},
		&tar.Header{Name: "./usr/share/doc/su/copyright", Mode: 0o644},
		&tar.Header{Name: "./dev/null", Typeflag: tar.TypeChar, Mode: 0o666},
		&tar.Header{Name: "./var/secret/", Typeflag: tar.TypeDir, Mode: 0o000},
	)
	if err := extract(a, root, set.keeps); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"bin": "-> usr/bin", "sbin": "-> usr/sbin", "lib": "-> usr/lib", "lib64": "-> usr/lib64",
		"usr/lib/old.so.1": "-rw-r--r-- content of ./lib/old.so.1", "usr/lib/new.so": "-> old.so.1",
		"usr/bin/su": "-rwxr-xr-x content of ./usr/bin/su", "usr/bin/again": "-rwxr-xr-x content of ./usr/bin/su",
	}
	if diff := cmp.Diff(want, listing(t, folder)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// listing are the files of a folder and what they are.
func listing(t *testing.T, folder string) map[string]string {
	t.Helper()
	got := map[string]string{}
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, _ := filepath.Rel(folder, path)
		if d.Type()&fs.ModeSymlink != 0 {
			target, err := os.Readlink(path)
			got[name] = "-> " + target
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		content, err := os.ReadFile(path)
		got[name] = info.Mode().String() + " " + string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestExtractOutside(t *testing.T) {
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := extract(archived(t, &tar.Header{
		Name: "../outside",
		Mode: 0o644,
	}), root, func(string) bool { return true }); err == nil {
		t.Error("a file is written outside of the folder")
	}
}

func TestUnpackBroken(t *testing.T) {
	if _, err := exec.LookPath("dpkg-deb"); err != nil {
		t.Skip("no dpkg-deb here")
	}
	file := filepath.Join(t.TempDir(), "broken_1_all.deb")
	put(t, file, "no archive")
	err := Unpack(t.Context(), []string{file}, t.TempDir(), func(string) bool { return true })
	if err == nil || !strings.Contains(err.Error(), "unpack broken_1_all.deb") {
		t.Errorf("got %v", err)
	}
}
